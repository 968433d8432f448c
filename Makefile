# SPDX-License-Identifier: GPL-2.0
# For people. What each target does stands behind its ##; make help prints that.
# The module's object list is in Kbuild, the C++ parts are in CMakeLists.txt.

MAKEFLAGS += --no-print-directory
# Two builds in one folder destroy each other's files. Each of them uses all processors itself.
.NOTPARALLEL:
CMAKE_BUILD := build/cmake

.PHONY: all help module module-unsafe module-leaps module-arm64 module-copy emulator tool probe tool-parts unit guest-parts demo test test-lab test-asan test-kernels test-debug test-drivers test-gpu test-gpu-schedule soak fuzz check bench bench-tool manuals kselftest install uninstall deb test-deb test-releases test-systemd clean configure

all: module emulator tool guest-parts ## everything that a user or a guest needs (default)

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 16

module: ## build/module/RELEASE/gpulens.ko, for KDIR, the running kernel or Debian's linux-headers-amd64
	scripts/build-module

module-unsafe: module ## the module with a stop_machine() that stops nothing: for the test that shows the difference
	scripts/build-module module-unsafe

module-leaps: module ## the module with a clock that leaps ahead now and then: for the test of what becomes of requests
	scripts/build-module module-leaps

module-arm64: ## the module for arm64, with Debian's cross compiler; any warning is an error
	scripts/build-arm64

module-copy: module ## the module under another name: for the test of two modules that want the same files
	scripts/build-module module-copy

# clang, where it is installed and nothing else is asked for, takes 3/5 of GCC's time.
ifeq ($(origin CXX)$(origin CC),defaultdefault)
COMPILERS := $(if $(shell command -v clang++),-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++)
endif

configure:
	@test -f $(CMAKE_BUILD)/build.ninja || cmake -S . -B $(CMAKE_BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release $(COMPILERS) >build/cmake.log 2>&1 || { cat build/cmake.log; exit 1; }

build:
	@mkdir -p build

configure: | build

emulator: configure ## build/bin/gpulens-emulator
	cmake --build $(CMAKE_BUILD) --target gpulens-emulator

tool: configure ## build/bin/gpulens and gpulens-lab, the command-line tools, and build/cmake/docs, their manual pages
	cmake --build $(CMAKE_BUILD) --target gpulens gpulens-lab gpulens-run gpulens-confine probe tool-docs

probe: configure ## build/bin/gpulens-probe-kernels and the other programs that gpulens starts on a GPU
	cmake --build $(CMAKE_BUILD) --target probe

tool-parts: configure ## what tests of the tool want: build/bin/record-image, fake_rm.so, libgpulens-partition.so
	cmake --build $(CMAKE_BUILD) --target record-image fake_rm fake-load fake-probe-kernels gpulens-partition fake-cuda

unit: | build ## the host's unit tests and fuzz targets, in build/cmake-asan, with sanitizers; clang takes half of GCC's time for them
	@test -f $(CMAKE_BUILD)-asan/build.ninja || cmake -S . -B $(CMAKE_BUILD)-asan -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DGPULENS_SANITIZE=ON -DCMAKE_BUILD_TYPE=None '-DCMAKE_CXX_FLAGS=-O0 -g1' '-DCMAKE_C_FLAGS=-O0 -g1' >build/cmake.log 2>&1 || { cat build/cmake.log; exit 1; }
	cmake --build $(CMAKE_BUILD)-asan --target unit-tests tool-tests limit-tests schedule-tests emulator-tests partition-tests fuzz-targets

guest-parts: module module-copy ## what runs inside a guest: the test modules and helpers
	scripts/build-kmod-tests
	scripts/fetch-kernel

demo: ## boot four emulated GPUs and show what the module shows, and one that programs use through nouveau
	@$(MAKE) module emulator >build/demo-build.log 2>&1 || { cat build/demo-build.log; exit 1; }
	scripts/fetch-kernel
	scripts/vm demo

demo: | build

test: ## the tests of each commit: virtual machines with emulated GPUs, and the tool; what runs and how long is left is shown
	scripts/test

test-lab: ## gpulens-lab and the kernels that it launches, on fakes; before a push
	scripts/test-lab

test-asan: ## unit tests with sanitizers, and the fuzz targets on inputs that are the same each time; before a push
	scripts/test-asan

test-kernels: ## builds for Debian's kernels 5.10 to the newest, and runs the tests under each; an hour
	scripts/test-kernels

test-debug: ## the tests under kernels with KASAN, UBSAN, lockdep, kmemleak and KCSAN, built once; over an hour
	scripts/test-debug

test-drivers: ## the kernel's own nouveau on emulated GPUs, gpulens beside it (docs/drivers.md); half an hour
	scripts/test-drivers

test-gpu: ## what gpulens says through NVIDIA's driver against CUDA, on a machine with a GPU and nvcc
	scripts/test-gpu

test-gpu-schedule: ## what NVIDIA's driver lets a program do to its own TSGs, on a machine with a GPU
	scripts/test-gpu-schedule

soak: module emulator guest-parts ## nights: hostile hardware with 100,000 reads a chip family, then all coming and going; hours
	cmake --build $(CMAKE_BUILD) --target limit-tests
	scripts/soak

fuzz: ## decoding of images, topology, runlists, page tables and requests, FUZZ_SECONDS (60) each
	tests/fuzz/run

check: ## static checks of what changed: kernel W=1, arm64, sparse, checkpatch, clang-tidy, shellcheck, pylint, registers, layers; scripts/check --all: of everything
	scripts/check

manuals: ## what two of these checks compare with, of NVIDIA's public repositories, into build/manuals
	scripts/fetch-manuals

bench: module emulator guest-parts ## accesses and times against the budget of docs/internals.md
	scripts/bench

bench-tool: tool tool-parts ## the tool's commands on large inputs: seconds, instructions and peak memory, a row each
	scripts/bench-tool

kselftest: ## the read-only tests on this machine's GPUs, with the module loaded
	$(MAKE) -C tests/selftests run_tests

install: | build ## the module through DKMS, tool and library under PREFIX (/usr/local); KVER= names a kernel, DESTDIR= stages only
	@cmake -S . -B $(CMAKE_BUILD)-tool -DGPULENS_TOOL_ONLY=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib >build/cmake.log 2>&1 || { cat build/cmake.log; exit 1; }
	cmake --build $(CMAKE_BUILD)-tool
	scripts/install

uninstall: ## removes what make install put there
	scripts/install --uninstall

deb: ## build/deb/*.deb, Debian packages of the tool, of libgpulens-partition and of the module's sources
	scripts/build-deb

test-deb: ## packages and make install, in throwaway root folders of Debian 12 and 13; wants root and debootstrap
	scripts/test-deb

test-systemd: ## the exporter's unit under the systemd of Debian 12 and 13; wants root and debootstrap
	scripts/test-systemd

test-releases: ## the demo and every test on a fresh Debian 12 and 13, in root folders of these; wants root and debootstrap
	scripts/test-releases

clean: ## remove everything generated, except what was downloaded
	rm -rf build/module build/module-unsafe build/module-leaps build/module-copy build/cmake build/cmake-tool build/cmake-asan build/cmake-fuzz build/fuzz build/bin build/guest build/kmod-tests build/run build/results build/check build/deb
