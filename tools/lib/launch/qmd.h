/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Launch descriptors of compute work (QMD, in the driver also TMD), as NVIDIA's open-gpu-doc defines them: where the version
 * is, and what keeps blocks from SMs or TPCs. MW(hi:lo) counts bits from the begin of the descriptor (word * 32 + bit).
 * Of each header: every version that has such a field. descriptor.hpp makes the table of them; the step registers of
 * scripts/check compares each definition with its header.
 */
#pragma once

/* @source open-gpu-doc classes/compute/cla0c0qmd.h */
#define NVA0C0_QMDV01_06_QMD_VERSION                         MW(579:576)
#define NVA0C0_QMDV01_06_QMD_MAJOR_VERSION                   MW(583:580)
#define NVA0C0_QMDV01_06_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVA0C0_QMDV01_06_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVA0C0_QMDV01_07_QMD_VERSION                         MW(579:576)
#define NVA0C0_QMDV01_07_QMD_MAJOR_VERSION                   MW(583:580)
#define NVA0C0_QMDV01_07_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVA0C0_QMDV01_07_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/cla1c0qmd.h */
#define NVA1C0_QMDV01_07_QMD_VERSION                         MW(579:576)
#define NVA1C0_QMDV01_07_QMD_MAJOR_VERSION                   MW(583:580)
#define NVA1C0_QMDV01_07_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVA1C0_QMDV01_07_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clb0c0qmd.h */
#define NVB0C0_QMDV01_07_QMD_VERSION                         MW(579:576)
#define NVB0C0_QMDV01_07_QMD_MAJOR_VERSION                   MW(583:580)
#define NVB0C0_QMDV01_07_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVB0C0_QMDV01_07_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clb1c0qmd.h */
#define NVB1C0_QMDV01_07_QMD_VERSION                         MW(579:576)
#define NVB1C0_QMDV01_07_QMD_MAJOR_VERSION                   MW(583:580)
#define NVB1C0_QMDV01_07_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVB1C0_QMDV01_07_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clc0c0qmd.h */
#define NVC0C0_QMDV01_07_QMD_VERSION                         MW(579:576)
#define NVC0C0_QMDV01_07_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC0C0_QMDV01_07_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC0C0_QMDV01_07_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVC0C0_QMDV02_00_QMD_VERSION                         MW(579:576)
#define NVC0C0_QMDV02_00_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC0C0_QMDV02_00_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC0C0_QMDV02_00_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVC0C0_QMDV02_01_QMD_VERSION                         MW(579:576)
#define NVC0C0_QMDV02_01_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC0C0_QMDV02_01_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC0C0_QMDV02_01_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clc1c0qmd.h */
#define NVC1C0_QMDV01_07_QMD_VERSION                         MW(579:576)
#define NVC1C0_QMDV01_07_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC1C0_QMDV01_07_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC1C0_QMDV01_07_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVC1C0_QMDV02_00_QMD_VERSION                         MW(579:576)
#define NVC1C0_QMDV02_00_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC1C0_QMDV02_00_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC1C0_QMDV02_00_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVC1C0_QMDV02_01_QMD_VERSION                         MW(579:576)
#define NVC1C0_QMDV02_01_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC1C0_QMDV02_01_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC1C0_QMDV02_01_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clc3c0qmd.h */
#define NVC3C0_QMDV02_02_QMD_VERSION                         MW(579:576)
#define NVC3C0_QMDV02_02_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC3C0_QMDV02_02_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC3C0_QMDV02_02_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clc4c0qmd.h */
#define NVC4C0_QMDV02_02_QMD_VERSION                         MW(579:576)
#define NVC4C0_QMDV02_02_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC4C0_QMDV02_02_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC4C0_QMDV02_02_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clc5c0qmd.h */
#define NVC5C0_QMDV02_03_QMD_VERSION                         MW(579:576)
#define NVC5C0_QMDV02_03_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC5C0_QMDV02_03_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC5C0_QMDV02_03_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clc6c0qmd.h */
#define NVC6C0_QMDV02_03_QMD_VERSION                         MW(579:576)
#define NVC6C0_QMDV02_03_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC6C0_QMDV02_03_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC6C0_QMDV02_03_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVC6C0_QMDV02_04_QMD_VERSION                         MW(579:576)
#define NVC6C0_QMDV02_04_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC6C0_QMDV02_04_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC6C0_QMDV02_04_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVC6C0_QMDV03_00_QMD_VERSION                         MW(579:576)
#define NVC6C0_QMDV03_00_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC6C0_QMDV03_00_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC6C0_QMDV03_00_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clc7c0qmd.h */
#define NVC7C0_QMDV02_03_QMD_VERSION                         MW(579:576)
#define NVC7C0_QMDV02_03_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC7C0_QMDV02_03_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC7C0_QMDV02_03_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVC7C0_QMDV02_04_QMD_VERSION                         MW(579:576)
#define NVC7C0_QMDV02_04_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC7C0_QMDV02_04_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC7C0_QMDV02_04_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVC7C0_QMDV03_00_QMD_VERSION                         MW(579:576)
#define NVC7C0_QMDV03_00_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC7C0_QMDV03_00_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC7C0_QMDV03_00_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clc9c0qmd.h */
#define NVC9C0_QMDV02_04_QMD_VERSION                         MW(579:576)
#define NVC9C0_QMDV02_04_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC9C0_QMDV02_04_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC9C0_QMDV02_04_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVC9C0_QMDV03_00_SM_DISABLE_MASK_EXT_LOWER           MW(377:372)
#define NVC9C0_QMDV03_00_SM_DISABLE_MASK_EXT_UPPER           MW(380:379)
#define NVC9C0_QMDV03_00_QMD_VERSION                         MW(579:576)
#define NVC9C0_QMDV03_00_QMD_MAJOR_VERSION                   MW(583:580)
#define NVC9C0_QMDV03_00_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVC9C0_QMDV03_00_SM_DISABLE_MASK_UPPER               MW(735:704)

/* @source open-gpu-doc classes/compute/clcbc0qmd.h */
#define NVCBC0_QMDV03_00_QMD_VERSION                         MW(579:576)
#define NVCBC0_QMDV03_00_QMD_MAJOR_VERSION                   MW(583:580)
#define NVCBC0_QMDV03_00_SM_DISABLE_MASK_LOWER               MW(703:672)
#define NVCBC0_QMDV03_00_SM_DISABLE_MASK_UPPER               MW(735:704)
#define NVCBC0_QMDV04_00_QMD_TYPE                            MW(25:23)
#define NVCBC0_QMDV04_00_QMD_TYPE_GRID_CTA                   0x00000002
#define NVCBC0_QMDV04_00_QMD_TYPE_GRID_GPC_CGA               0x00000003
#define NVCBC0_QMDV04_00_QMD_TYPE_GRID_GPU_CGA               0x00000004
#define NVCBC0_QMDV04_00_QMD_TYPE_GRID_GPU_GPC_CGA           0x00000005
#define NVCBC0_QMDV04_00_TPC_DISABLE_MASK_VALID              MW(31:31)
#define NVCBC0_QMDV04_00_QMD_MINOR_VERSION                   MW(579:576)
#define NVCBC0_QMDV04_00_QMD_MAJOR_VERSION                   MW(583:580)
#define NVCBC0_QMDV04_00_GPC_CGA_WIDTH                       MW(2149:2144)
#define NVCBC0_QMDV04_00_GPC_CGA_HEIGHT                      MW(2157:2152)
#define NVCBC0_QMDV04_00_GPC_CGA_DEPTH                       MW(2165:2160)
#define NVCBC0_QMDV04_00_GPU_CGA_WIDTH                       MW(2223:2208)
#define NVCBC0_QMDV04_00_GPU_CGA_HEIGHT                      MW(2239:2224)
#define NVCBC0_QMDV04_00_GPU_CGA_DEPTH                       MW(2255:2240)
#define NVCBC0_QMDV04_00_TPC_DISABLE_MASK(i)                 MW((2463+(i)*32):(2432+(i)*32))

/* @source open-gpu-doc classes/compute/clcdc0qmd.h */
#define NVCDC0_QMDV05_00_QMD_TYPE                            MW(153:151)
#define NVCDC0_QMDV05_00_QMD_TYPE_GRID_CTA                   0x00000002
#define NVCDC0_QMDV05_00_QMD_TYPE_GRID_GPC_CGA               0x00000003
#define NVCDC0_QMDV05_00_QMD_TYPE_GRID_GPU_CGA               0x00000004
#define NVCDC0_QMDV05_00_QMD_TYPE_GRID_GPU_GPC_CGA           0x00000005
#define NVCDC0_QMDV05_00_TPC_DISABLE_MASK_VALID              MW(159:159)
#define NVCDC0_QMDV05_00_QMD_MINOR_VERSION                   MW(467:464)
#define NVCDC0_QMDV05_00_QMD_MAJOR_VERSION                   MW(471:468)
#define NVCDC0_QMDV05_00_GPC_CGA_WIDTH                       MW(2053:2048)
#define NVCDC0_QMDV05_00_GPC_CGA_HEIGHT                      MW(2061:2056)
#define NVCDC0_QMDV05_00_GPC_CGA_DEPTH                       MW(2069:2064)
#define NVCDC0_QMDV05_00_LARGE_GPC_CGA_WIDTH_MINUS_ONE       MW(2075:2072)
#define NVCDC0_QMDV05_00_LARGE_GPC_CGA_HEIGHT_MINUS_ONE      MW(2079:2076)
#define NVCDC0_QMDV05_00_GPU_CGA_WIDTH                       MW(2127:2112)
#define NVCDC0_QMDV05_00_GPU_CGA_HEIGHT                      MW(2143:2128)
#define NVCDC0_QMDV05_00_GPU_CGA_DEPTH                       MW(2159:2144)
#define NVCDC0_QMDV05_00_TPC_DISABLE_MASK(i)                 MW((2271+(i)*32):(2240+(i)*32))
#define NVCDC0_QMDV05_01_QMD_TYPE                            MW(153:151)
#define NVCDC0_QMDV05_01_QMD_TYPE_GRID_CTA                   0x00000002
#define NVCDC0_QMDV05_01_QMD_TYPE_GRID_GPC_CGA               0x00000003
#define NVCDC0_QMDV05_01_QMD_TYPE_GRID_GPU_CGA               0x00000004
#define NVCDC0_QMDV05_01_QMD_TYPE_GRID_GPU_GPC_CGA           0x00000005
#define NVCDC0_QMDV05_01_TPC_DISABLE_MASK_VALID              MW(159:159)
#define NVCDC0_QMDV05_01_QMD_MINOR_VERSION                   MW(467:464)
#define NVCDC0_QMDV05_01_QMD_MAJOR_VERSION                   MW(471:468)
#define NVCDC0_QMDV04_01_QMD_TYPE                            MW(25:23)
#define NVCDC0_QMDV04_01_QMD_TYPE_GRID_CTA                   0x00000002
#define NVCDC0_QMDV04_01_QMD_TYPE_GRID_GPC_CGA               0x00000003
#define NVCDC0_QMDV04_01_QMD_TYPE_GRID_GPU_CGA               0x00000004
#define NVCDC0_QMDV04_01_QMD_TYPE_GRID_GPU_GPC_CGA           0x00000005
#define NVCDC0_QMDV04_01_TPC_DISABLE_MASK_VALID              MW(31:31)
#define NVCDC0_QMDV04_01_QMD_MINOR_VERSION                   MW(579:576)
#define NVCDC0_QMDV04_01_QMD_MAJOR_VERSION                   MW(583:580)
#define NVCDC0_QMDV04_01_GPC_CGA_WIDTH                       MW(2149:2144)
#define NVCDC0_QMDV04_01_GPC_CGA_HEIGHT                      MW(2157:2152)
#define NVCDC0_QMDV04_01_GPC_CGA_DEPTH                       MW(2165:2160)
#define NVCDC0_QMDV04_01_LARGE_GPC_CGA_WIDTH_MINUS_ONE       MW(2171:2168)
#define NVCDC0_QMDV04_01_LARGE_GPC_CGA_HEIGHT_MINUS_ONE      MW(2175:2172)
#define NVCDC0_QMDV04_01_GPU_CGA_WIDTH                       MW(2223:2208)
#define NVCDC0_QMDV04_01_GPU_CGA_HEIGHT                      MW(2239:2224)
#define NVCDC0_QMDV04_01_GPU_CGA_DEPTH                       MW(2255:2240)
#define NVCDC0_QMDV04_01_TPC_DISABLE_MASK(i)                 MW((2463+(i)*32):(2432+(i)*32))
#define NVCDC0_QMDV04_01_TPC_DISABLE_MASK_UPPER(i)           MW((2719+(i)*32):(2688+(i)*32))

/* @source open-gpu-doc classes/compute/clcec0qmd.h */
#define NVCEC0_QMDV05_00_QMD_TYPE                            MW(153:151)
#define NVCEC0_QMDV05_00_QMD_TYPE_GRID_CTA                   0x00000002
#define NVCEC0_QMDV05_00_QMD_TYPE_GRID_GPC_CGA               0x00000003
#define NVCEC0_QMDV05_00_QMD_TYPE_GRID_GPU_CGA               0x00000004
#define NVCEC0_QMDV05_00_QMD_TYPE_GRID_GPU_GPC_CGA           0x00000005
#define NVCEC0_QMDV05_00_TPC_DISABLE_MASK_VALID              MW(159:159)
#define NVCEC0_QMDV05_00_QMD_MINOR_VERSION                   MW(467:464)
#define NVCEC0_QMDV05_00_QMD_MAJOR_VERSION                   MW(471:468)
#define NVCEC0_QMDV05_00_GPC_CGA_WIDTH                       MW(2053:2048)
#define NVCEC0_QMDV05_00_GPC_CGA_HEIGHT                      MW(2061:2056)
#define NVCEC0_QMDV05_00_GPC_CGA_DEPTH                       MW(2069:2064)
#define NVCEC0_QMDV05_00_LARGE_GPC_CGA_WIDTH_MINUS_ONE       MW(2075:2072)
#define NVCEC0_QMDV05_00_LARGE_GPC_CGA_HEIGHT_MINUS_ONE      MW(2079:2076)
#define NVCEC0_QMDV05_00_GPU_CGA_WIDTH                       MW(2127:2112)
#define NVCEC0_QMDV05_00_GPU_CGA_HEIGHT                      MW(2143:2128)
#define NVCEC0_QMDV05_00_GPU_CGA_DEPTH                       MW(2159:2144)
#define NVCEC0_QMDV05_00_TPC_DISABLE_MASK(i)                 MW((2271+(i)*32):(2240+(i)*32))
#define NVCEC0_QMDV05_01_QMD_TYPE                            MW(153:151)
#define NVCEC0_QMDV05_01_QMD_TYPE_GRID_CTA                   0x00000002
#define NVCEC0_QMDV05_01_QMD_TYPE_GRID_GPC_CGA               0x00000003
#define NVCEC0_QMDV05_01_QMD_TYPE_GRID_GPU_CGA               0x00000004
#define NVCEC0_QMDV05_01_QMD_TYPE_GRID_GPU_GPC_CGA           0x00000005
#define NVCEC0_QMDV05_01_TPC_DISABLE_MASK_VALID              MW(159:159)
#define NVCEC0_QMDV05_01_QMD_MINOR_VERSION                   MW(467:464)
#define NVCEC0_QMDV05_01_QMD_MAJOR_VERSION                   MW(471:468)
#define NVCEC0_QMDV04_01_QMD_TYPE                            MW(25:23)
#define NVCEC0_QMDV04_01_QMD_TYPE_GRID_CTA                   0x00000002
#define NVCEC0_QMDV04_01_QMD_TYPE_GRID_GPC_CGA               0x00000003
#define NVCEC0_QMDV04_01_QMD_TYPE_GRID_GPU_CGA               0x00000004
#define NVCEC0_QMDV04_01_QMD_TYPE_GRID_GPU_GPC_CGA           0x00000005
#define NVCEC0_QMDV04_01_TPC_DISABLE_MASK_VALID              MW(31:31)
#define NVCEC0_QMDV04_01_QMD_MINOR_VERSION                   MW(579:576)
#define NVCEC0_QMDV04_01_QMD_MAJOR_VERSION                   MW(583:580)
#define NVCEC0_QMDV04_01_GPC_CGA_WIDTH                       MW(2149:2144)
#define NVCEC0_QMDV04_01_GPC_CGA_HEIGHT                      MW(2157:2152)
#define NVCEC0_QMDV04_01_GPC_CGA_DEPTH                       MW(2165:2160)
#define NVCEC0_QMDV04_01_LARGE_GPC_CGA_WIDTH_MINUS_ONE       MW(2171:2168)
#define NVCEC0_QMDV04_01_LARGE_GPC_CGA_HEIGHT_MINUS_ONE      MW(2175:2172)
#define NVCEC0_QMDV04_01_GPU_CGA_WIDTH                       MW(2223:2208)
#define NVCEC0_QMDV04_01_GPU_CGA_HEIGHT                      MW(2239:2224)
#define NVCEC0_QMDV04_01_GPU_CGA_DEPTH                       MW(2255:2240)
#define NVCEC0_QMDV04_01_TPC_DISABLE_MASK(i)                 MW((2463+(i)*32):(2432+(i)*32))
#define NVCEC0_QMDV04_01_TPC_DISABLE_MASK_UPPER(i)           MW((2719+(i)*32):(2688+(i)*32))
