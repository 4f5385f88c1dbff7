# SPDX-License-Identifier: Apache-2.0
# Compiler flags of every target, as an interface to link against: no global flags.
add_library(infprof_flags INTERFACE)
target_compile_features(infprof_flags INTERFACE c_std_17)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
target_compile_definitions(infprof_flags INTERFACE _GNU_SOURCE)
target_compile_options(infprof_flags INTERFACE
	-Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wvla -Wformat=2 -Wundef
	-Wstrict-prototypes -fno-strict-aliasing)
if(INFPROF_WERROR)
	target_compile_options(infprof_flags INTERFACE -Werror)
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
	set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

# Sanitizers on everything but the library that is loaded into other people's programs: a
# sanitized library aborts a program that is not.
add_library(infprof_sanitize INTERFACE)
if(INFPROF_SANITIZE)
	target_compile_options(infprof_sanitize INTERFACE
		-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
	target_link_options(infprof_sanitize INTERFACE -fsanitize=address,undefined)
endif()

# infprof_folder(NAME FOLDER SOURCES... LINKS targets...): one static library per folder. Headers
# are included by path from the top ("core/buf.h"); which paths exist for a target is decided by
# what it links: the include directory of a folder holds a link to that folder and nothing else.
function(infprof_folder name folder)
	cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
	set(view ${CMAKE_BINARY_DIR}/include-${folder})
	file(MAKE_DIRECTORY ${view})
	file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${view}/${folder} SYMBOLIC)
	add_library(${name} STATIC ${arg_SOURCES})
	add_library(infprof::${folder} ALIAS ${name})
	target_include_directories(${name} PUBLIC ${view} PUBLIC ${CMAKE_SOURCE_DIR}/include)
	target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE infprof_flags infprof_sanitize)
endfunction()
