/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "trace/wire/address.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static void assert_refused(const char *address, bool any_port, const char *cause)
{
	assert_int_equal(ifp_address_check(address, any_port), -EINVAL);
	if (!strstr(ifp_error_cause(0), cause))
		fail_msg("\"%s\" does not say \"%s\"", ifp_error_cause(0), cause);
	ifp_error_clear();
}

static void test_hosts_and_ports(void **state)
{
	(void)state;
	assert_ok(ifp_address_check("tcp://127.0.0.1:1", false));
	assert_ok(ifp_address_check("tcp://head.cluster:65535", false));
	assert_ok(ifp_address_check("tcp://[::1]:5555", false));
	assert_refused("tcp://127.0.0.1:65536", false, "no port between");
	assert_refused("tcp://127.0.0.1:99999999999999999999", false, "no port between");
	assert_refused("tcp://127.0.0.1:80x", false, "\"80x\"");
	assert_refused("tcp://127.0.0.1:-1", false, "\"-1\"");
	assert_refused("tcp://head", false, "a host and a port");
	assert_refused("tcp://:80", false, "a host and a port");
	assert_refused("tcp://head:", false, "a host and a port");
}

static void test_any_port_is_for_listening_only(void **state)
{
	(void)state;
	assert_ok(ifp_address_check("tcp://127.0.0.1:*", true));
	assert_ok(ifp_address_check("tcp://127.0.0.1:0", true));
	assert_ok(ifp_address_check("tcp://127.0.0.1:80", true));
	assert_refused("tcp://127.0.0.1:*", false, "no port between");
	assert_refused("tcp://127.0.0.1:0", false, "no port between");
}

static void test_paths(void **state)
{
	char longest[] = "ipc:///12345678901234567890123456789012345678901234567890"
			 "12345678901234567890123456789012345678901234567890123456x";

	(void)state;
	assert_ok(ifp_address_check("ipc:///run/collector", false));
	assert_refused("ipc://collector", true, "the whole path");
	assert_refused("ipc:///", true, "the whole path");
	assert_refused("ipc://", true, "the whole path");
	assert_refused(longest, true, "longer than 107");
	longest[strlen(longest) - 1] = '\0';
	assert_ok(ifp_address_check(longest, true));
}

static void test_other_schemes(void **state)
{
	(void)state;
	assert_refused("head:5555", false, "give tcp://HOST:PORT or ipc:///PATH");
	assert_refused("udp://head:5555", false, "give tcp://HOST:PORT or ipc:///PATH");
	assert_refused("", false, "give tcp://HOST:PORT or ipc:///PATH");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_and_ports),
		cmocka_unit_test(test_any_port_is_for_listening_only),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_other_schemes),
	};

	return RUN_TESTS(tests);
}
