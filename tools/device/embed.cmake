# SPDX-License-Identifier: GPL-2.0
# Writes the C++ source TO, in which KERNELS_PTX is the text of the file FROM.
file(READ ${FROM} TEXT)
file(WRITE ${TO} "#include \"device/kernels.hpp\"\nconst char gpulens::KERNELS_PTX[] = R\"ptx(${TEXT})ptx\";\n")
