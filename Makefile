# SPDX-License-Identifier: Apache-2.0
# A thin front of the CMake presets; `make help` lists what there is.
PREFIX ?= /usr/local
PYTHON ?= python3
JOBS ?= $(shell nproc)
export PYTHON

.PHONY: all help deps demo check bench install clean

all: build/build.ninja
	cmake --build --preset default -j $(JOBS)

help:
	@echo 'make           build into build/'
	@echo 'make demo      install what is missing, build, profile an 8-rank PyTorch job on the CPU'
	@echo 'make check     install what is missing, build in four ways, run every test'
	@echo 'make bench     measure what infprof costs on this machine'
	@echo 'make install   install under PREFIX (default $(PREFIX))'
	@echo 'make clean     remove the build folders'

build/build.ninja:
	cmake --preset default

demo:
	deploy/install-dependencies demo
	$(MAKE) all
	deploy/demo

check:
	deploy/install-dependencies check
	deploy/check

bench: all
	bench/run

install: all
	cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-asan build-clang build-nocuda
