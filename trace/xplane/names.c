/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/xplane/names.h"

#include <ctype.h>
#include <string.h>

static bool is_type_character(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The last part of "aten::mm", when it can be the type of an operator: else empty. */
static struct ifp_str type_of(struct ifp_str name)
{
	uint32_t first = name.len_bytes;

	while (first && is_type_character(name.ptr[first - 1]))
		first--;
	/* Types begin with a letter or '_', names with a letter or a digit. */
	if (first == name.len_bytes || isdigit((unsigned char)name.ptr[first]) ||
		!isalnum((unsigned char)name.ptr[0]))
		return (struct ifp_str){0};
	return (struct ifp_str){name.ptr + first, name.len_bytes - first};
}

/*
 * A type with small letters only is one of JAX's to xprof, any other has to begin with a capital or
 * '_' to be one of TensorFlow's.
 */
static void append_type(struct ifp_buf *out, struct ifp_str type)
{
	char first = type.ptr[0];
	bool small = true;

	for (uint32_t i = 0; i < type.len_bytes; i++)
		small = small && !isupper((unsigned char)type.ptr[i]);
	if (!small)
		first = (char)toupper((unsigned char)first);
	ifp_buf_append_u8(out, (uint8_t)first);
	ifp_buf_append(out, type.ptr + 1, type.len_bytes - 1);
}

/* Letters, digits and _ . / > - are allowed in the name of an operator. */
static void append_operator(struct ifp_buf *out, struct ifp_str name, struct ifp_str type)
{
	for (uint32_t i = 0; i < name.len_bytes; i++) {
		char c = name.ptr[i];

		if (c == ':' && i + 1 < name.len_bytes && name.ptr[i + 1] == ':') {
			ifp_buf_append_u8(out, '/');
			i++;
		} else {
			ifp_buf_append_u8(out, is_type_character(c) || (c && strchr("./>-", c))
						       ? (uint8_t)c
						       : '_');
		}
	}
	ifp_buf_append_u8(out, ':');
	append_type(out, type);
}

void ifp_xplane_name(struct ifp_buf *out, struct ifp_str name, enum ifp_xplane_style style)
{
	static const char copy[] = "Memcpy ";
	struct ifp_str type = {0};

	if (style == IFP_XPLANE_OPERATOR && name.len_bytes)
		type = type_of(name);
	if (type.len_bytes) {
		append_operator(out, name, type);
	} else if (style == IFP_XPLANE_COPY && ifp_str_starts_with(name, copy)) {
		ifp_buf_append(out, copy, sizeof(copy) - 2);
		ifp_buf_append(out, name.ptr + sizeof(copy) - 1, name.len_bytes - sizeof(copy) + 1);
	} else {
		ifp_buf_append(out, name.ptr, name.len_bytes);
	}
}

bool ifp_xplane_claims_step(struct ifp_str name)
{
	return (ifp_str_starts_with(name, "train") || ifp_str_starts_with(name, "test") ||
		       ifp_str_starts_with(name, "TraceContext")) &&
	       !memchr(name.ptr, '/', name.len_bytes);
}
