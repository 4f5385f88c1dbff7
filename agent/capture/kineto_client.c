/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/kineto_client.h"

bool ifp_kineto_client_polling(const struct ifp_kineto_client *client, int64_t now_ns)
{
	return client->pid && now_ns - client->asked_ns <= IFP_KINETO_SILENCE_NS;
}

bool ifp_kineto_client_asks(struct ifp_kineto_client *client, int32_t pid, int64_t now_ns)
{
	if (client->pid != pid) {
		if (ifp_kineto_client_polling(client, now_ns))
			return false;
		ifp_kineto_client_release(client);
	}
	client->pid = pid;
	client->asked_ns = now_ns;
	return true;
}

bool ifp_kineto_client_leaving(const struct ifp_kineto_client *client)
{
	return client->segment && client->pid &&
	       atomic_load(&client->segment->leaving_pid) == (uint32_t)client->pid;
}

bool ifp_kineto_client_hold(struct ifp_kineto_client *client, const struct ifp_window *window)
{
	struct ifp_segment_header *segment = client->segment;
	bool is_steps = window->kind == IFP_WINDOW_STEPS;

	if (!segment)
		return true;
	atomic_store(&segment->window_first_step, is_steps ? window->first_step : 0);
	atomic_store(
		&segment->window_last_step, is_steps ? window->first_step + window->count - 1 : 0);
	/*
	 * Sequentially consistent, like the process' side: either it sees the window when it looks
	 * after it has said that it ends, or that is seen here.
	 */
	atomic_store(&segment->window_pid, (uint32_t)client->pid);
	if (!ifp_kineto_client_leaving(client))
		return true;
	ifp_kineto_client_release(client);
	return false;
}

void ifp_kineto_client_release(struct ifp_kineto_client *client)
{
	if (client->segment)
		atomic_store(&client->segment->window_pid, 0);
}
