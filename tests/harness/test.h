/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test includes: cmocka with the headers that it forgets. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/error.h"
#include "core/str.h"

/* What sanitizers slow down is not tried that often by tests of many random cases. */
#if defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

/* Runs the tests of one array named tests as group. */
#define RUN_TESTS(tests) cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL)

/* A call that must succeed: shows the cause chain when it does not. */
#define assert_ok(call)                                                                            \
	do {                                                                                       \
		int result_ = (call);                                                              \
		if (result_ != 0) {                                                                \
			char text_[1024];                                                          \
			fail_msg("%s = %d: %s", #call, result_,                                    \
				ifp_error_text(text_, sizeof(text_)));                             \
		}                                                                                  \
	} while (0)

#define assert_str(str, expected)                                                                  \
	do {                                                                                       \
		struct ifp_str str_ = (str);                                                       \
		const char *expected_ = (expected);                                                \
		if (!ifp_str_is(str_, expected_))                                                  \
			fail_msg("\"%.*s\" is not \"%s\"", IFP_STR_ARGS(str_), expected_);         \
	} while (0)
