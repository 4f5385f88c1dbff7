/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may connect: answers ZeroMQ's authentication requests (rfc.zeromq.org/spec/27) and admits
 * the one CURVE client key of the job. Must exist before the socket that it guards is bound.
 */
#pragma once

#define IFP_ZAP_DOMAIN "infprof"

struct ifp_zap;

/* client_public: Z85 text of 40 characters. The context is borrowed; one handler per context. */
int ifp_zap_new(void *zmq_context, const char *client_public, struct ifp_zap **out);
void ifp_zap_free(struct ifp_zap **zap);

/* For zmq_poll(), and what to do when it is readable. */
void *ifp_zap_socket(struct ifp_zap *zap);
void ifp_zap_answer(struct ifp_zap *zap);
