/* SPDX-License-Identifier: Apache-2.0 */
/* agent/inject/nvtx_abi.h held against NVIDIA's own headers: what differs does not compile. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include "agent/inject/nvtx_abi.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
#define SAME_FIELD(ours, theirs)                                                                   \
	SAME(offsetof(struct ifp_nvtx_event, ours), offsetof(nvtxEventAttributes_t, theirs))

SAME(IFP_NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(IFP_NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
SAME(sizeof(struct ifp_nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct ifp_nvtx_callbacks, module_slots),
	offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(sizeof(struct ifp_nvtx_version_info), sizeof(NvtxExportTableVersionInfo));
SAME(offsetof(struct ifp_nvtx_version_info, set_injection_version),
	offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));

SAME(IFP_NVTX_CORE, NVTX_CB_MODULE_CORE);
SAME(IFP_NVTX_CORE2, NVTX_CB_MODULE_CORE2);
SAME(IFP_NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(IFP_NVTX_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(IFP_NVTX_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(IFP_NVTX_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(IFP_NVTX_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(IFP_NVTX_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(IFP_NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(IFP_NVTX_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(IFP_NVTX_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(IFP_NVTX_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(IFP_NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(IFP_NVTX_NAME_OS_THREAD_A, NVTX_CBID_CORE_NameOsThreadA);
SAME(IFP_NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(IFP_NVTX_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(IFP_NVTX_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(IFP_NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(IFP_NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(IFP_NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(IFP_NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);

SAME(IFP_NVTX_MESSAGE_NONE, NVTX_MESSAGE_UNKNOWN);
SAME(IFP_NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(IFP_NVTX_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(IFP_NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(sizeof(struct ifp_nvtx_event), sizeof(nvtxEventAttributes_t));
SAME_FIELD(version, version);
SAME_FIELD(size_bytes, size);
SAME_FIELD(category, category);
SAME_FIELD(color_type, colorType);
SAME_FIELD(color, color);
SAME_FIELD(payload_type, payloadType);
SAME_FIELD(reserved, reserved0);
SAME_FIELD(payload, payload);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
SAME(sizeof(uint64_t), sizeof(nvtxRangeId_t));
