# SPDX-License-Identifier: GPL-2.0
# Defines LENS_HAVE_X for each have_x.c of this folder that compiles against this kernel. No version is compared, since
# distributions backport changes. A probe that fails for another reason is noticed: compat.h then declares a second time
# what the kernel already has.
lens-try = $(call try-run,$(CC) $(NOSTDINC_FLAGS) $(LINUXINCLUDE) $(KBUILD_CPPFLAGS) $(KBUILD_CFLAGS) -DMODULE \
	-fsyntax-only $(src)/src/linux/compat/have_$(1).c,-DLENS_HAVE_$(2))

ccflags-y += $(call lens-try,driver_managed_dma,DRIVER_MANAGED_DMA)
ccflags-y += $(call lens-try,init_fs,INIT_FS)
ccflags-y += $(call lens-try,pde_data,PDE_DATA)
ccflags-y += $(call lens-try,pm_runtime_get_if_active,PM_RUNTIME_GET_IF_ACTIVE)
