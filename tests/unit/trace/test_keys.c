/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/wire/keys.h"

#include "core/cleanup.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static const struct ifp_keys keys = {
	.server_public = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
	.server_secret = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6",
	.client_public = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID",
	.client_secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs",
};

struct place {
	char folder[64];
	char path[96];
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	strcpy(place->folder, "/tmp/infprof-keys-XXXXXX");
	if (!mkdtemp(place->folder))
		return -1;
	snprintf(place->path, sizeof(place->path), "%s/keys.json", place->folder);
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	unlink(place->path);
	/* Fails, and the test with it, when a temporary file has been left behind. */
	if (rmdir(place->folder))
		return -1;
	free(place);
	return 0;
}

static void write_file(const char *path, const char *text)
{
	IFP_CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void keys_come_back_from_a_private_file(void **state)
{
	struct place *place = *state;
	struct ifp_keys out;
	struct stat st;

	assert_ok(ifp_keys_write(place->path, &keys));
	assert_int_equal(stat(place->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_ok(ifp_keys_read(place->path, &out));
	assert_memory_equal(&out, &keys, sizeof(keys));
}

static void a_file_that_is_there_is_kept(void **state)
{
	struct place *place = *state;
	struct ifp_keys out;

	write_file(place->path, "mine");
	assert_int_equal(ifp_keys_write(place->path, &keys), -EEXIST);
	assert_int_equal(ifp_keys_read(place->path, &out), -EBADMSG);
	ifp_error_clear();
}

static void a_file_that_others_may_read_is_refused(void **state)
{
	struct place *place = *state;
	struct ifp_keys out;

	assert_ok(ifp_keys_write(place->path, &keys));
	assert_int_equal(chmod(place->path, 0640), 0);
	assert_int_equal(ifp_keys_read(place->path, &out), -EACCES);
	ifp_error_clear();
}

static void what_is_no_key_is_refused(void **state)
{
	struct place *place = *state;
	struct ifp_keys out, broken = keys;

	broken.client_secret[39] = '"'; /* not in the alphabet of Z85 */
	assert_int_equal(ifp_keys_write(place->path, &broken), -EINVAL);
	assert_int_equal(ifp_keys_read(place->path, &out), -ENOENT);
	write_file(place->path, "{\"server_public\":\"short\"}");
	assert_int_equal(ifp_keys_read(place->path, &out), -EBADMSG);
	ifp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			keys_come_back_from_a_private_file, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			a_file_that_is_there_is_kept, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			a_file_that_others_may_read_is_refused, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			what_is_no_key_is_refused, make_place, remove_place),
	};

	return RUN_TESTS(tests);
}
