/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NVTX' binary interface that this library answers to, in our own words: the library
 * builds without CUDA. tests/unit/agent/test_nvtx_abi.c holds it against NVIDIA's headers where
 * they are found. Valid for NVTX 2 and 3; x86-64 and AArch64 Linux agree on it.
 *
 * How it works: NVTX in the program loads the library named by NVTX_INJECTION64_PATH at its first
 * call, and calls InitializeInjectionNvtx2(get_table). From get_table() the library gets, module by
 * module, arrays of pointers to the function pointers behind the program's NVTX calls, and writes
 * its own functions there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Ids of the tables that get_table() knows. */
#define IFP_NVTX_TABLE_CALLBACKS 1u
#define IFP_NVTX_TABLE_VERSION 3u

typedef const void *(*ifp_nvtx_get_table_fn)(uint32_t table_id);
typedef void (*ifp_nvtx_fn)(void);

struct ifp_nvtx_callbacks {
	size_t struct_size;
	/* slots: array of slot_count pointers to function pointers, indexed by the ids below */
	int (*module_slots)(int module, ifp_nvtx_fn ***slots, unsigned int *slot_count);
};

struct ifp_nvtx_version_info {
	size_t struct_size;
	uint32_t version; /* of the program's NVTX */
	uint32_t reserved;
	void (*set_injection_version)(uint32_t version);
};

/* Modules. */
enum ifp_nvtx_module {
	IFP_NVTX_CORE = 1,  /* default domain */
	IFP_NVTX_CORE2 = 5, /* named domains */
};

enum ifp_nvtx_core_id {
	IFP_NVTX_MARK_EX = 1,
	IFP_NVTX_MARK_A = 2,
	IFP_NVTX_MARK_W = 3,
	IFP_NVTX_RANGE_START_EX = 4,
	IFP_NVTX_RANGE_START_A = 5,
	IFP_NVTX_RANGE_START_W = 6,
	IFP_NVTX_RANGE_END = 7,
	IFP_NVTX_RANGE_PUSH_EX = 8,
	IFP_NVTX_RANGE_PUSH_A = 9,
	IFP_NVTX_RANGE_PUSH_W = 10,
	IFP_NVTX_RANGE_POP = 11,
	IFP_NVTX_NAME_OS_THREAD_A = 14,
};

enum ifp_nvtx_core2_id {
	IFP_NVTX_DOMAIN_MARK_EX = 1,
	IFP_NVTX_DOMAIN_RANGE_START_EX = 2,
	IFP_NVTX_DOMAIN_RANGE_END = 3,
	IFP_NVTX_DOMAIN_RANGE_PUSH_EX = 4,
	IFP_NVTX_DOMAIN_RANGE_POP = 5,
	IFP_NVTX_DOMAIN_REGISTER_STRING_A = 10,
	IFP_NVTX_DOMAIN_CREATE_A = 12,
};

enum ifp_nvtx_message_type {
	IFP_NVTX_MESSAGE_NONE = 0,
	IFP_NVTX_MESSAGE_ASCII = 1,
	IFP_NVTX_MESSAGE_UNICODE = 2, /* wchar_t */
	IFP_NVTX_MESSAGE_REGISTERED = 3,
};

/* Handles are ours: NVTX hands back what we returned. */
struct ifp_nvtx_domain;
struct ifp_nvtx_string;

struct ifp_nvtx_event {
	uint16_t version;
	uint16_t size_bytes;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type; /* enum ifp_nvtx_message_type */
	union {
		const char *ascii;
		const void *unicode;
		const struct ifp_nvtx_string *registered;
	} message;
};

_Static_assert(sizeof(struct ifp_nvtx_event) == 48, "layout of nvtxEventAttributes_t");
_Static_assert(offsetof(struct ifp_nvtx_event, message) == 40, "layout of nvtxEventAttributes_t");
