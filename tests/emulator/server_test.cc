// SPDX-License-Identifier: GPL-2.0
// The test takes QEMU's side of the protocol over a socket pair: the messages that hw/remote/proxy.c of QEMU 7.2 sends
// when it realizes the device, and accesses by bus address.
#include "common.hpp"

#include "server/control_socket.hpp"
#include "server/mpqemu.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace emu_test;

namespace {

class Qemu : public testing::Test {
protected:
	void SetUp() override
	{
		ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv_), 0);
		gpu_ = make_gpu("gp106", two_tsgs());
		thread_ = std::thread([this] {
			emu::QemuLink link(*gpu_, sv_[1], nullptr);
			while (link.serve())
				;
		});
	}
	void TearDown() override
	{
		shutdown(sv_[0], SHUT_RDWR);
		thread_.join();
		close(sv_[0]);
		close(sv_[1]);
	}
	void send_message(uint32_t command, const void *payload, size_t size, int fd = -1)
	{
		struct {
			uint32_t command, pad;
			uint64_t size;
		} header{command, 0, size};
		iovec iov[2] = {{&header, 16}, {const_cast<void *>(payload), size}};
		alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
		msghdr m{};
		m.msg_iov = iov;
		m.msg_iovlen = 2;
		if (fd >= 0) {
			m.msg_control = control;
			m.msg_controllen = sizeof(control);
			cmsghdr *c = CMSG_FIRSTHDR(&m);
			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(c), &fd, sizeof(int));
		}
		ASSERT_EQ(sendmsg(sv_[0], &m, 0), ssize_t(16 + size));
	}
	uint64_t answer()
	{
		struct {
			uint32_t command, pad;
			uint64_t size, value;
		} r{};
		EXPECT_EQ(recv(sv_[0], &r, sizeof(r), MSG_WAITALL), 24);
		EXPECT_EQ(r.command, 1u);
		EXPECT_EQ(r.size, 8u);
		return r.value;
	}
	uint32_t config_read(uint32_t addr, int32_t len)
	{
		uint32_t p[3] = {addr, 0, uint32_t(len)};
		send_message(3, p, 12);
		return uint32_t(answer());
	}
	void config_write(uint32_t addr, uint32_t value, int32_t len)
	{
		uint32_t p[3] = {addr, value, uint32_t(len)};
		send_message(2, p, 12);
		answer();
	}
	uint64_t bar(bool write, uint64_t addr, uint32_t size, uint64_t value = 0)
	{
		struct {
			uint64_t addr, value;
			uint32_t size;
			uint8_t memory, pad[3];
		} p{addr, value, size, 1, {}};
		send_message(write ? 4 : 5, &p, 24);
		return answer();
	}

	int sv_[2];
	std::unique_ptr<emu::EmulatedGpu> gpu_;
	std::thread thread_;
};

TEST_F(Qemu, probes_configuration_and_reads_registers_by_bus_address)
{
	EXPECT_EQ(config_read(0x00, 2), 0x10deu);
	EXPECT_EQ(config_read(0x02, 2), 0x1c02u);
	EXPECT_EQ(config_read(0x0a, 2), 0x0300u);
	const uint32_t sized[7] = {0xff000000, 0xff000000, 0, 0xff000000, 0, 0, 0};
	for (unsigned i = 0; i < 7; i++) {
		config_write(0x10 + 4 * i, 0xffffffff, 4);
		EXPECT_EQ(config_read(0x10 + 4 * i, 4), sized[i]) << "BAR " << i;
	}
	config_write(0x10, 0xfd000000, 4);
	config_write(0x14, 0xd0000000, 4);
	config_write(0x1c, 0xd1000000, 4);
	config_write(0x04, 0x0006, 2);
	EXPECT_EQ(bar(false, 0xfd000000, 4), 0x136000a1u);
	EXPECT_EQ(bar(false, 0xfd000a00, 4), 0x136a1000u);
	bar(true, 0xfd001700, 4, 0x1234);
	bar(true, 0xfd700010, 8, 0x1122334455667788ull);
	EXPECT_EQ(bar(false, 0xfd700014, 4), 0x11223344u);
	EXPECT_EQ(bar(false, 0xd1000010, 4), 0x0u);
	EXPECT_EQ(bar(false, 0xc0000000, 4), ~0ull) << "no BAR there";
	send_message(7, nullptr, 0);
	answer();
	EXPECT_EQ(config_read(0x10, 4), 0u) << "reset clears the BARs";
	EXPECT_EQ(config_read(0x3d, 1), 1u);
}

TEST_F(Qemu, shares_guest_memory_with_the_gpu)
{
	int fd = memfd_create("guest", 0);
	ASSERT_EQ(ftruncate(fd, 1 << 20), 0);
	auto *ram = static_cast<uint32_t *>(mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	ram[4] = 0xfeedf00d;
	uint64_t sync[24] = {};
	sync[0] = 0x40000000, sync[8] = 1 << 20, sync[16] = 0;
	send_message(0, sync, sizeof(sync), fd);
	close(fd);
	config_write(0x10, 0xfd000000, 4);
	bar(true, 0xfd001700, 4, 0x02004000); // window on coherent system memory at 0x40000000
	EXPECT_EQ(bar(false, 0xfd700010, 4), 0xfeedf00du);
	bar(true, 0xfd700020, 4, 0x0badcafe);
	EXPECT_EQ(ram[8], 0x0badcafeu);
	munmap(ram, 1 << 20);
}

TEST(ControlSocket, each_line_gets_a_line)
{
	auto gpu = make_gpu("gp106");
	std::string path = testing::TempDir() + "control" + std::to_string(getpid());
	emu::ControlSocket control(*gpu, path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	sockaddr_un addr{};
	addr.sun_family = AF_UNIX;
	strcpy(addr.sun_path, path.c_str());
	ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&addr), sizeof(addr)), 0);
	std::string lines = "{\"cmd\":\"reg-peek\",\"off\":0}\nnonsense\n";
	ASSERT_EQ(send(fd, lines.data(), lines.size(), 0), ssize_t(lines.size()));
	for (int i = 0; i < 4; i++) {
		std::vector<pollfd> fds;
		control.add_to(fds);
		poll(fds.data(), fds.size(), 100);
		control.serve(fds);
	}
	char got[4096] = {};
	recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
	EXPECT_STREQ(got, "{\"ok\":true,\"value\":325058721}\n{\"error\":\"not JSON\",\"ok\":false}\n");
	close(fd);
}

// A client sends 20,000 commands and does not read the answers: serve() returns each time. Once the client reads, it
// gets an answer to each. Seen failing with a send() that blocks: the test does not end.
TEST(ControlSocket, a_client_that_does_not_read_does_not_block_the_server)
{
	constexpr int COMMANDS = 20000;
	auto gpu = make_gpu("gp106");
	std::string path = testing::TempDir() + "slow" + std::to_string(getpid());
	emu::ControlSocket control(*gpu, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	sockaddr_un addr{};
	addr.sun_family = AF_UNIX;
	strcpy(addr.sun_path, path.c_str());
	ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&addr), sizeof(addr)), 0);
	std::string lines, got;
	for (int i = 0; i < COMMANDS; i++)
		lines += "{\"cmd\":\"reg-peek\",\"off\":0}\n";
	auto serve = [&] {
		std::vector<pollfd> fds;
		control.add_to(fds);
		poll(fds.data(), fds.size(), 10);
		control.serve(fds);
	};
	auto send_more = [&] {
		ssize_t n = send(fd, lines.data(), lines.size(), 0);
		lines.erase(0, n > 0 ? size_t(n) : 0);
	};
	for (int i = 0; i < 50; i++) {
		send_more();
		serve();
	}
	EXPECT_FALSE(lines.empty()) << "the server took all commands of a client that reads nothing";
	for (int i = 0; i < 100000 && std::count(got.begin(), got.end(), '\n') < COMMANDS; i++) {
		char chunk[65536];
		ssize_t n = recv(fd, chunk, sizeof(chunk), 0);
		got.append(chunk, n > 0 ? size_t(n) : 0);
		if (!lines.empty())
			send_more();
		serve();
	}
	EXPECT_EQ(std::count(got.begin(), got.end(), '\n'), COMMANDS);
	close(fd);
}

// Seen failing with unlink() of any file at that path.
TEST(ControlSocket, only_an_abandoned_socket_is_replaced)
{
	auto gpu = make_gpu("gp106");
	std::string path = testing::TempDir() + "there" + std::to_string(getpid());
	close(open(path.c_str(), O_CREAT | O_WRONLY, 0600));
	EXPECT_THROW(emu::ControlSocket(*gpu, path), std::system_error);
	EXPECT_EQ(access(path.c_str(), F_OK), 0);
	unlink(path.c_str());
	{
		emu::ControlSocket first(*gpu, path);
		EXPECT_THROW(emu::ControlSocket(*gpu, path), std::system_error) << "a socket that listens";
		ASSERT_EQ(rename(path.c_str(), (path + ".other").c_str()), 0);
		close(open(path.c_str(), O_CREAT | O_WRONLY, 0600));
	}
	EXPECT_EQ(access(path.c_str(), F_OK), 0) << "a file that replaced the socket";
	unlink(path.c_str());
	emu::ControlSocket again(*gpu, path + ".other"); // nothing listens there
	EXPECT_EQ(access((path + ".other").c_str(), F_OK), 0);
}

} // namespace
