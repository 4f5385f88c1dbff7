/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses NVTX 3 as NVIDIA's header has it; it knows nothing of infprof. */
#include <nvtx3/nvToolsExt.h>

#include <string.h>
#include <wchar.h>

static nvtxEventAttributes_t attributes(const char *message)
{
	nvtxEventAttributes_t event;

	memset(&event, 0, sizeof(event));
	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = message;
	return event;
}

/* Ranges of two domains overlap: each domain nests for itself. Exit status: what NVTX returned. */
static int use_domains(void)
{
	nvtxDomainHandle_t first = nvtxDomainCreateA("first");
	nvtxDomainHandle_t again = nvtxDomainCreateA("first");
	nvtxDomainHandle_t second = nvtxDomainCreateA("second");
	nvtxEventAttributes_t event = attributes("solve");
	nvtxRangeId_t id;

	if (first != again || first == second)
		return 1;
	if (nvtxDomainRangePushEx(first, &event) != 0)
		return 2;
	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	event.message.registered = nvtxDomainRegisterStringA(second, "registered");
	if (nvtxDomainRangePushEx(second, &event) != 0)
		return 3;
	if (nvtxDomainRangePop(first) != 0 || nvtxDomainRangePop(second) != 0)
		return 4;
	nvtxDomainMarkEx(first, &event);
	id = nvtxDomainRangeStartEx(second, &event);
	if (id == 0)
		return 5;
	nvtxDomainRangeEnd(second, id);
	return 0;
}

/* More domains than the library counts the depths of: they nest all the same. */
static void use_many_domains(void)
{
	for (int i = 0; i < 40; i++) {
		char name[] = {'d', (char)('0' + i / 10), (char)('0' + i % 10), '\0'};
		nvtxDomainHandle_t domain = nvtxDomainCreateA(name);
		nvtxEventAttributes_t event = attributes("out");

		nvtxDomainRangePushEx(domain, &event);
		event.message.ascii = "in";
		nvtxDomainRangePushEx(domain, &event);
		nvtxDomainRangePop(domain);
		nvtxDomainRangePop(domain);
	}
}

int main(void)
{
	nvtxEventAttributes_t event = attributes("with attributes");
	nvtxRangeId_t id = nvtxRangeStartA("started");
	int status;

	if (id == 0 || nvtxRangePushA("outer") != 0 || nvtxRangePushEx(&event) != 1)
		return 10;
	if (nvtxRangePushW(L"wide") != 2 || nvtxRangePop() != 2)
		return 11;
	event.messageType = NVTX_MESSAGE_UNKNOWN;
	nvtxMarkEx(&event);
	nvtxMarkA("mark");
	if (nvtxRangePop() != 1 || nvtxRangePop() != 0 || nvtxRangePop() >= 0)
		return 12;
	nvtxRangeEnd(id);
	status = use_domains();
	use_many_domains();
	return status;
}
