// SPDX-License-Identifier: GPL-2.0
// What /proc/PID says of processes: control groups of containers, pods and Slurm's jobs.
#include "lib/base/process_info.hpp"

#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace {

/* -- control groups; the paths are those of the container runtimes' documentation and of Kubernetes' kubelet,
 *    pkg/kubelet/cm/cgroup_manager_linux.go -- */

const std::string ID = "4f2a1c0d9e8b7a6f5e4d3c2b1a09f8e7d6c5b4a3928170f6e5d4c3b2a1908f7e";
const std::string POD = "d1a4c2e0-5b6f-4c3d-9e8f-0a1b2c3d4e5f";

TEST(Cgroup, EachRuntimesNamesAreKnown)
{
	for (const std::string &path : {
		     "/docker/" + ID,                                    // Docker, cgroupfs
		     "/system.slice/docker-" + ID + ".scope",            // Docker, systemd
		     "/machine.slice/libpod-" + ID + ".scope",           // Podman, systemd
		     "/libpod_parent/libpod-" + ID,                      // Podman, cgroupfs
		     "/machine.slice/libpod-" + ID + ".scope/container", // Podman with cgroup namespaces
	     }) {
		tool::Cgroup found = tool::cgroup_of("0::" + path + "\n");
		EXPECT_EQ(found.container, ID) << path;
		EXPECT_EQ(found.pod, "") << path;
	}
}

TEST(Cgroup, PodsAreKnownWithEitherDriver)
{
	for (const std::string &path : {
		     std::string("/kubepods/burstable/pod").append(POD).append("/").append(ID),
		     "/kubepods.slice/kubepods-burstable.slice/"
		     "kubepods-burstable-podd1a4c2e0_5b6f_4c3d_9e8f_0a1b2c3d4e5f."
		     "slice/cri-containerd-" +
			     ID + ".scope",
		     "/kubepods.slice/kubepods-podd1a4c2e0_5b6f_4c3d_9e8f_0a1b2c3d4e5f.slice/crio-" + ID + ".scope",
		     // kind, with the kubelet's own root; k3s; CRI-O without systemd's driver
		     "/kubelet.slice/kubelet-kubepods.slice/"
		     "kubelet-kubepods-burstable-podd1a4c2e0_5b6f_4c3d_9e8f_0a1b2c3d4e5f.slice/cri-containerd-" +
			     ID + ".scope",
		     "/system.slice/containerd.service/"
		     "kubepods-burstable-podd1a4c2e0_5b6f_4c3d_9e8f_0a1b2c3d4e5f.slice:cri-containerd:" +
			     ID,
		     std::string("/kubepods/burstable/pod").append(POD).append("/crio-").append(ID),
	     }) {
		tool::Cgroup found = tool::cgroup_of("0::" + path + "\n");
		EXPECT_EQ(found.container, ID) << path;
		EXPECT_EQ(found.pod, POD) << path;
	}
	// A static pod's UID is a hash.
	EXPECT_EQ(tool::cgroup_of("0::/kubepods/besteffort/pod0123456789abcdef0123456789abcdef/" + ID).pod,
		  "0123456789abcdef0123456789abcdef");
}

// Paths of slurm-job-exporter 2 and 66 and of Slurm's cgroup.conf(5). Users may name control groups of their own so, too.
TEST(Cgroup, SlurmsJobsAreKnown)
{
	using Names = std::pair<std::string, std::string>;
	auto job_of = [](const std::string &path) {
		tool::Cgroup found = tool::cgroup_of("0::" + path + "\n");
		return Names(found.job, found.step);
	};

	EXPECT_EQ(job_of("/system.slice/slurmstepd.scope/job_402/step_0/user/task_0"), Names("402", "0"));
	EXPECT_EQ(job_of("/system.slice/node7_slurmstepd.scope/job_402/step_batch/user/task_0"), Names("402", "batch"));
	EXPECT_EQ(job_of("/slurm/uid_1000/job_77/step_extern"), Names("77", "extern"));
	EXPECT_EQ(job_of("/slurm_node7/uid_1000/job_77"), Names("77", ""));
	for (const char *path : {"/user.slice/user-1000.slice/user@1000.service/slurm/job_1/step_0",
				 "/system.slice/cron.service/slurmstepd.scope/job_1/step_0", "/job_1/step_0",
				 "/slurm/job_a b/step_0", "/slurm/job_/step_0"})
		EXPECT_EQ(job_of(path), Names("", "")) << path;
	EXPECT_EQ(tool::cgroup_of("4:memory:/slurm/uid_1/job_7/step_0\n1:cpu:/slurm/uid_1/job_8/step_0\n").job, "");
}

// Seen failing with the first name taken: two hierarchies of v1 that differ gave the first.
TEST(Cgroup, AmbiguousNamesAreEmpty)
{
	std::string other = ID;
	other[0] = '5';
	EXPECT_EQ(tool::cgroup_of("4:memory:/docker/" + ID + "\n1:cpu:/docker/" + ID + "\n").container, ID);
	EXPECT_EQ(tool::cgroup_of("4:memory:/docker/" + ID + "\n1:cpu:/docker/" + other + "\n").container, "");
	for (const char *text : {"", "0::/\n", "0::/user.slice/user-1000.slice/session-2.scope\n", "0::/docker/abc\n",
				 "garbage", "0::/system.slice/podman.service\n", "0::/pod123/\n"}) {
		EXPECT_EQ(tool::cgroup_of(text).container, "") << text;
		EXPECT_EQ(tool::cgroup_of(text).pod, "") << text;
	}
}

TEST(ProcessInfo, OfThisProcessAndOfAMissingOne)
{
	tool::ProcessInfo self = tool::process_info(static_cast<u32>(getpid()));
	EXPECT_EQ(self.name, "tool-tests");
	EXPECT_EQ(self.uid, getuid());
	EXPECT_TRUE(tool::process_exists(static_cast<u32>(getpid())));
	EXPECT_FALSE(tool::process_exists(0));
	EXPECT_FALSE(tool::process_exists(0x7fffffff)); // pid_max is at most 2^22
	EXPECT_EQ(tool::process_info(0x7fffffff).name, "");
	EXPECT_FALSE(tool::process_info(0x7fffffff).uid);
}

} // namespace
