// SPDX-License-Identifier: GPL-2.0
// An engine as a source reports it, for tests of the model.
#pragma once
#include "lib/model/model.hpp"

namespace tool_test {

// type: NV_PTOP_DEVICE_INFO_TYPE_ENUM of include/hw/ptop.h, 0 graphics, 19 LCE.
inline tool::Engine make_engine(const char *name, u16 type, u16 inst, int runlist)
{
	tool::Engine e;

	e.name = name;
	e.type = type;
	e.inst = inst;
	e.runlist = runlist;
	return e;
}

} // namespace tool_test
