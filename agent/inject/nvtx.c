/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges and marks that the program makes through NVTX, recorded like its own marks. No CUPTI and
 * no GPU is involved. Names of a named domain get "domain: " in front.
 *
 * Messages in wide characters are recorded without their text. They are not left to NVTX, because a
 * push that is ignored would shift every pop behind it.
 */
#include "agent/inject/nvtx_abi.h"
#include "agent/inject/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_TEXT "(unnamed)"
#define WIDE_TEXT "(wide-character name)"
#define PREFIX_MAX_BYTES 96 /* of "domain: "; what is left of a name's bytes is for the name */
#define NVTX_VERSION_WRITTEN_FOR 3

/* Both are made once and never freed: other threads may hold their handles after a destroy. */
struct ifp_nvtx_domain {
	struct ifp_nvtx_domain *next;
	uint16_t stack;
	uint16_t prefix_bytes;
	char prefix[]; /* "name: " */
};

struct ifp_nvtx_string {
	char text[1]; /* NUL-terminated, as long as needed */
};

/* All domains, the latest first; only ever grows. */
static _Atomic(struct ifp_nvtx_domain *) domains;
static _Atomic uint32_t domain_count;

static struct ifp_mark new_mark(const struct ifp_nvtx_domain *domain, uint8_t kind)
{
	struct ifp_mark mark = {
		.kind = kind, .origin = IFP_MARK_FROM_NVTX, .stack = IFP_STACK_NVTX};

	if (domain) {
		mark.stack = domain->stack;
		mark.prefix = domain->prefix;
		mark.prefix_bytes = domain->prefix_bytes;
	}
	return mark;
}

static const char *message_text(const struct ifp_nvtx_event *event)
{
	const char *text = NULL;

	if (!event)
		return NO_TEXT;
	switch (event->message_type) {
	case IFP_NVTX_MESSAGE_ASCII:
		text = event->message.ascii;
		break;
	case IFP_NVTX_MESSAGE_REGISTERED:
		text = event->message.registered ? event->message.registered->text : NULL;
		break;
	case IFP_NVTX_MESSAGE_UNICODE:
		text = WIDE_TEXT;
		break;
	default:
		break;
	}
	return text ? text : NO_TEXT;
}

static void mark_named(const struct ifp_nvtx_domain *domain, const char *name)
{
	struct ifp_mark mark = new_mark(domain, IFP_MARK_INSTANT);

	mark.name = name;
	ifp_ring_put(&mark);
}

static int push_named(const struct ifp_nvtx_domain *domain, const char *name)
{
	struct ifp_mark mark = new_mark(domain, IFP_MARK_PUSH);

	mark.name = name;
	return ifp_ring_push(&mark);
}

static int pop_in(const struct ifp_nvtx_domain *domain)
{
	struct ifp_mark mark = new_mark(domain, IFP_MARK_POP);

	mark.prefix_bytes = 0;
	return ifp_ring_pop(&mark);
}

static uint64_t start_named(const struct ifp_nvtx_domain *domain, const char *name)
{
	struct ifp_mark mark = new_mark(domain, IFP_MARK_START);

	mark.name = name;
	return ifp_ring_start(&mark);
}

static void range_end(uint64_t id)
{
	struct ifp_mark mark = new_mark(NULL, IFP_MARK_END);

	mark.value = id;
	if (id)
		ifp_ring_put(&mark);
}

/* ---- The functions that NVTX calls ------------------------------------------------------- */

static void mark_ex(const struct ifp_nvtx_event *event)
{
	mark_named(NULL, message_text(event));
}

static void mark_a(const char *text)
{
	mark_named(NULL, text ? text : NO_TEXT);
}

static void mark_w(const void *text)
{
	(void)text;
	mark_named(NULL, WIDE_TEXT);
}

static uint64_t range_start_ex(const struct ifp_nvtx_event *event)
{
	return start_named(NULL, message_text(event));
}

static uint64_t range_start_a(const char *text)
{
	return start_named(NULL, text ? text : NO_TEXT);
}

static uint64_t range_start_w(const void *text)
{
	(void)text;
	return start_named(NULL, WIDE_TEXT);
}

static int range_push_ex(const struct ifp_nvtx_event *event)
{
	return push_named(NULL, message_text(event));
}

static int range_push_a(const char *text)
{
	return push_named(NULL, text ? text : NO_TEXT);
}

static int range_push_w(const void *text)
{
	(void)text;
	return push_named(NULL, WIDE_TEXT);
}

static int range_pop(void)
{
	return pop_in(NULL);
}

static void name_os_thread_a(uint32_t tid, const char *name)
{
	struct ifp_mark mark = new_mark(NULL, IFP_MARK_THREAD_NAME);

	mark.value = tid;
	mark.name = name;
	if (name)
		ifp_ring_put(&mark);
}

static void domain_mark_ex(const struct ifp_nvtx_domain *domain, const struct ifp_nvtx_event *event)
{
	mark_named(domain, message_text(event));
}

static uint64_t domain_range_start_ex(
	const struct ifp_nvtx_domain *domain, const struct ifp_nvtx_event *event)
{
	return start_named(domain, message_text(event));
}

static void domain_range_end(const struct ifp_nvtx_domain *domain, uint64_t id)
{
	(void)domain;
	range_end(id);
}

static int domain_range_push_ex(
	const struct ifp_nvtx_domain *domain, const struct ifp_nvtx_event *event)
{
	return push_named(domain, message_text(event));
}

static int domain_range_pop(const struct ifp_nvtx_domain *domain)
{
	return pop_in(domain);
}

static const struct ifp_nvtx_string *domain_register_string_a(
	const struct ifp_nvtx_domain *domain, const char *text)
{
	(void)domain;
	return text ? (const void *)strdup(text) : NULL;
}

static struct ifp_nvtx_domain *find_domain(const char *name, size_t name_bytes)
{
	struct ifp_nvtx_domain *domain = atomic_load(&domains);

	while (domain && (domain->prefix_bytes != name_bytes + 2 ||
				 memcmp(domain->prefix, name, name_bytes) != 0))
		domain = domain->next;
	return domain;
}

/*
 * Every library that was built with NVTX creates its domains itself: the same name is the same
 * domain. Two threads that create one at the same moment may make two, which costs a stack number.
 */
static const struct ifp_nvtx_domain *domain_create_a(const char *name)
{
	size_t name_bytes = name ? strnlen(name, PREFIX_MAX_BYTES - 2) : 0;
	struct ifp_nvtx_domain *domain = name ? find_domain(name, name_bytes) : NULL;
	uint32_t stack;

	if (domain || !name)
		return domain;
	domain = malloc(sizeof(*domain) + name_bytes + 2);
	if (!domain)
		return NULL;
	stack = IFP_STACK_NVTX + 1 + atomic_fetch_add(&domain_count, 1);
	domain->stack = (uint16_t)(stack < UINT16_MAX ? stack : UINT16_MAX);
	domain->prefix_bytes = (uint16_t)(name_bytes + 2);
	memcpy(domain->prefix, name, name_bytes);
	memcpy(domain->prefix + name_bytes, ": ", 2);
	domain->next = atomic_load(&domains);
	while (!atomic_compare_exchange_weak(&domains, &domain->next, domain))
		continue;
	return domain;
}

/* ---- Attaching --------------------------------------------------------------------------- */

struct handler {
	unsigned int id;
	ifp_nvtx_fn function;
};

#define HANDLER(id, function)                                                                      \
	{                                                                                          \
		id, (ifp_nvtx_fn)(void *)(function)                                                \
	}

static const struct handler core_handlers[] = {
	HANDLER(IFP_NVTX_MARK_EX, mark_ex),
	HANDLER(IFP_NVTX_MARK_A, mark_a),
	HANDLER(IFP_NVTX_MARK_W, mark_w),
	HANDLER(IFP_NVTX_RANGE_START_EX, range_start_ex),
	HANDLER(IFP_NVTX_RANGE_START_A, range_start_a),
	HANDLER(IFP_NVTX_RANGE_START_W, range_start_w),
	HANDLER(IFP_NVTX_RANGE_END, range_end),
	HANDLER(IFP_NVTX_RANGE_PUSH_EX, range_push_ex),
	HANDLER(IFP_NVTX_RANGE_PUSH_A, range_push_a),
	HANDLER(IFP_NVTX_RANGE_PUSH_W, range_push_w),
	HANDLER(IFP_NVTX_RANGE_POP, range_pop),
	HANDLER(IFP_NVTX_NAME_OS_THREAD_A, name_os_thread_a),
};

static const struct handler core2_handlers[] = {
	HANDLER(IFP_NVTX_DOMAIN_MARK_EX, domain_mark_ex),
	HANDLER(IFP_NVTX_DOMAIN_RANGE_START_EX, domain_range_start_ex),
	HANDLER(IFP_NVTX_DOMAIN_RANGE_END, domain_range_end),
	HANDLER(IFP_NVTX_DOMAIN_RANGE_PUSH_EX, domain_range_push_ex),
	HANDLER(IFP_NVTX_DOMAIN_RANGE_POP, domain_range_pop),
	HANDLER(IFP_NVTX_DOMAIN_REGISTER_STRING_A, domain_register_string_a),
	HANDLER(IFP_NVTX_DOMAIN_CREATE_A, domain_create_a),
};

static bool attach_module(const struct ifp_nvtx_callbacks *callbacks, int module,
	const struct handler *handlers, size_t handler_count)
{
	ifp_nvtx_fn **slots = NULL;
	unsigned int slot_count = 0;

	if (!callbacks->module_slots(module, &slots, &slot_count) || !slots)
		return false;
	for (size_t i = 0; i < handler_count; i++) {
		if (handlers[i].id < slot_count && slots[handlers[i].id])
			*slots[handlers[i].id] = handlers[i].function;
	}
	return true;
}

static int attach(ifp_nvtx_get_table_fn get_table)
{
	const struct ifp_nvtx_callbacks *callbacks = get_table(IFP_NVTX_TABLE_CALLBACKS);
	const struct ifp_nvtx_version_info *version = get_table(IFP_NVTX_TABLE_VERSION);

	if (!ifp_inject_segment() || !callbacks || callbacks->struct_size < sizeof(*callbacks))
		return 0;
	if (!attach_module(callbacks, IFP_NVTX_CORE, core_handlers,
		    sizeof(core_handlers) / sizeof(core_handlers[0])))
		return 0;
	/* Old programs have no domains. */
	attach_module(callbacks, IFP_NVTX_CORE2, core2_handlers,
		sizeof(core2_handlers) / sizeof(core2_handlers[0]));
	if (version && version->struct_size >= sizeof(*version) && version->set_injection_version)
		version->set_injection_version(NVTX_VERSION_WRITTEN_FOR);
	return 1;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
	ifp_nvtx_get_table_fn get_table);
__attribute__((visibility("default"))) int InitializeInjectionNvtx(ifp_nvtx_get_table_fn get_table);

/* 0 tells NVTX to switch itself off: a mark costs the program nothing then. */
int InitializeInjectionNvtx2(ifp_nvtx_get_table_fn get_table)
{
	return attach(get_table);
}

/* The name that NVTX 2 looks for. */
int InitializeInjectionNvtx(ifp_nvtx_get_table_fn get_table)
{
	return attach(get_table);
}
