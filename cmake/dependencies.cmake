# SPDX-License-Identifier: Apache-2.0
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(zmq REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(cjson REQUIRED IMPORTED_TARGET libcjson)
if(INFPROF_ISAL)
	# Unpacks gzip about three times as fast as zlib does.
	pkg_check_modules(isal IMPORTED_TARGET libisal)
endif()
find_package(MPI COMPONENTS C)
if(INFPROF_CUDA)
	# Headers only: nothing of CUDA is ever linked.
	find_path(INFPROF_CUDA_INCLUDE nvtx3/nvToolsExt.h
		HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
endif()
find_program(SCDOC scdoc)
