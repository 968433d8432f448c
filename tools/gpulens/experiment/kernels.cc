// SPDX-License-Identifier: GPL-2.0
// PTX ISA 6.0 for compute capability 5.0 and later; the driver compiles it for the GPU.
#include "gpulens/experiment/kernels.hpp"

namespace tool::experiment {

const char KERNELS_PTX[] = R"(.version 6.0
.target sm_50
.address_size 64

.visible .entry log_slices(.param .u64 out, .param .u64 stop, .param .u64 gap, .param .u64 limit, .param .u32 room)
{
	.reg .pred %p<4>;
	.reg .b32 %r<4>;
	.reg .b64 %d<16>;
	ld.param.u64 %d0, [out];
	cvta.to.global.u64 %d0, %d0;
	ld.param.u64 %d1, [stop];
	cvta.to.global.u64 %d1, %d1;
	ld.param.u64 %d2, [gap];
	ld.param.u64 %d3, [limit];
	ld.param.u32 %r0, [room];
	add.u64 %d4, %d0, 8;
	mov.u32 %r1, 0;
	mov.u64 %d5, %globaltimer;
	mov.u64 %d6, %d5;
	mov.u64 %d7, %d5;
	mov.u64 %d8, %d5;
NEXT:
	mov.u64 %d9, %globaltimer;
	sub.u64 %d10, %d9, %d7;
	setp.le.u64 %p0, %d10, %d2;
	@%p0 bra SAME;
	setp.ge.u32 %p1, %r1, %r0;
	@%p1 bra FULL;
	st.global.u64 [%d4], %d6;
	st.global.u64 [%d4+8], %d7;
	add.u64 %d4, %d4, 16;
	add.u32 %r1, %r1, 1;
	mov.u64 %d6, %d9;
SAME:
	mov.u64 %d7, %d9;
	sub.u64 %d10, %d9, %d8;
	setp.lt.u64 %p0, %d10, 1000000;
	@%p0 bra NEXT;
	mov.u64 %d8, %d9;
	ld.volatile.global.u32 %r2, [%d1];
	setp.ne.u32 %p2, %r2, 0;
	@%p2 bra DONE;
	sub.u64 %d10, %d9, %d5;
	setp.lt.u64 %p3, %d10, %d3;
	@%p3 bra NEXT;
DONE:
	setp.ge.u32 %p1, %r1, %r0;
	@%p1 bra FULL;
	st.global.u64 [%d4], %d6;
	st.global.u64 [%d4+8], %d7;
	add.u32 %r1, %r1, 1;
FULL:
	cvt.u64.u32 %d11, %r1;
	st.global.u64 [%d0], %d11;
	ret;
}

.visible .entry stamp(.param .u64 out)
{
	.reg .b64 %d<2>;
	ld.param.u64 %d0, [out];
	cvta.to.global.u64 %d0, %d0;
	mov.u64 %d1, %globaltimer;
	st.global.u64 [%d0], %d1;
	ret;
}

.visible .entry spin(.param .u64 out, .param .u64 ns)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %d<8>;
	mov.u64 %d0, %globaltimer;
	ld.param.u64 %d1, [ns];
WAIT:
	mov.u64 %d2, %globaltimer;
	sub.u64 %d3, %d2, %d0;
	setp.lt.u64 %p0, %d3, %d1;
	@%p0 bra WAIT;
	mov.u32 %r0, %tid.x;
	setp.ne.u32 %p1, %r0, 0;
	@%p1 bra END;
	ld.param.u64 %d4, [out];
	cvta.to.global.u64 %d4, %d4;
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %d5, %r1, 24;
	add.u64 %d4, %d4, %d5;
	mov.u32 %r2, %smid;
	cvt.u64.u32 %d6, %r2;
	st.global.u64 [%d4], %d0;
	st.global.u64 [%d4+8], %d2;
	st.global.u64 [%d4+16], %d6;
END:
	ret;
}

.visible .entry multiply(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 width)
{
	.reg .pred %p<2>;
	.reg .b32 %r<24>;
	.reg .b64 %d<16>;
	.reg .f32 %f<4>;
	.shared .align 4 .b8 left[1024];
	.shared .align 4 .b8 right[1024];
	ld.param.u64 %d0, [a];
	cvta.to.global.u64 %d0, %d0;
	ld.param.u64 %d1, [b];
	cvta.to.global.u64 %d1, %d1;
	ld.param.u64 %d2, [c];
	cvta.to.global.u64 %d2, %d2;
	ld.param.u32 %r0, [width];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ctaid.y;
	mad.lo.u32 %r5, %r4, 16, %r2;
	mad.lo.u32 %r6, %r3, 16, %r1;
	mul.lo.u32 %r7, %r5, %r0;
	add.u32 %r8, %r7, %r1;
	mul.wide.u32 %d3, %r8, 4;
	add.u64 %d3, %d0, %d3;
	mad.lo.u32 %r9, %r2, %r0, %r6;
	mul.wide.u32 %d4, %r9, 4;
	add.u64 %d4, %d1, %d4;
	mul.wide.u32 %d5, %r0, 64;
	mov.u32 %r10, left;
	mov.u32 %r11, right;
	mad.lo.u32 %r12, %r2, 16, %r1;
	mad.lo.u32 %r13, %r12, 4, %r10;
	mad.lo.u32 %r14, %r12, 4, %r11;
	mad.lo.u32 %r15, %r2, 64, %r10;
	mad.lo.u32 %r16, %r1, 4, %r11;
	mov.f32 %f0, 0f00000000;
	mov.u32 %r17, 0;
TILES:
	setp.ge.u32 %p0, %r17, %r0;
	@%p0 bra STORE;
	ld.global.f32 %f1, [%d3];
	st.shared.f32 [%r13], %f1;
	ld.global.f32 %f2, [%d4];
	st.shared.f32 [%r14], %f2;
	bar.sync 0;
	mov.u32 %r18, 0;
	mov.u32 %r19, %r15;
	mov.u32 %r20, %r16;
PRODUCTS:
	ld.shared.f32 %f1, [%r19];
	ld.shared.f32 %f2, [%r20];
	fma.rn.f32 %f0, %f1, %f2, %f0;
	add.u32 %r19, %r19, 4;
	add.u32 %r20, %r20, 64;
	add.u32 %r18, %r18, 1;
	setp.lt.u32 %p1, %r18, 16;
	@%p1 bra PRODUCTS;
	bar.sync 0;
	add.u64 %d3, %d3, 64;
	add.u64 %d4, %d4, %d5;
	add.u32 %r17, %r17, 16;
	bra TILES;
STORE:
	add.u32 %r21, %r7, %r6;
	mul.wide.u32 %d6, %r21, 4;
	add.u64 %d6, %d2, %d6;
	st.global.f32 [%d6], %f0;
	ret;
}
)";

} // namespace tool::experiment
