// SPDX-License-Identifier: GPL-2.0
// Draws the screen with curses, and handles keys and control requests.
#include "gpulens/top/screen.hpp"

#include "gpulens/cmd/control.hpp"
#include "gpulens/cmd/schedule_status.hpp"
#include "gpulens/out/slot_status.hpp"
#include "gpulens/top/feed.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/signals.hpp"
#include "lib/source/module/proc.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <poll.h>
#include <set>
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <utility>

// curses' macros would replace ordinary names of functions and members.
#define NCURSES_NOMACROS
#include <curses.h>

namespace tool {

namespace {

constexpr int MIN_COLUMNS = 60, MIN_LINES = 10;
constexpr size_t MAX_NAMED_CHANNELS = 12; // in a question

// Initializes curses; the destructor restores the terminal.
class Terminal {
public:
	explicit Terminal(bool colour) : screen_(newterm(nullptr, stdout, stdin))
	{
		if (!screen_)
			throw std::runtime_error(
				"unknown terminal type (TERM); use --batch N to print N screens as text");
		cbreak();
		noecho();
		nonl();
		keypad(stdscr, true);
		nodelay(stdscr, true);
		set_escdelay(25);
		curs_set(0);
		colour_ = colour && has_colors() && start_color() == OK;
		if (!colour_)
			return;
		use_default_colors();
		init_pair(1, COLOR_GREEN, -1);
		init_pair(2, COLOR_MAGENTA, -1);
		init_pair(3, COLOR_RED, -1);
	}
	Terminal(const Terminal &) = delete;
	Terminal &operator=(const Terminal &) = delete;
	~Terminal()
	{
		endwin();
		delscreen(screen_);
	}

	// pair: of colours, from init_pair(); 0: none.
	void line(int y, const std::string &text, attr_t attributes = A_NORMAL, int pair = 0) const
	{
		if (y < 0 || y >= getmaxy(stdscr))
			return;
		attr_set(attributes, colour_ ? static_cast<short>(pair) : short{0}, nullptr);
		mvaddnstr(y, 0, text.c_str(), getmaxx(stdscr));
		attr_set(A_NORMAL, 0, nullptr);
	}

private:
	SCREEN *screen_;
	bool colour_;
};

// The channels of a TSG, by id and address of the instance block.
using Identity = std::set<std::pair<u32, u64>>;

// A control request that waits for confirmation.
struct Request {
	std::string question, path;     // path: of the /proc file
	std::vector<std::string> texts; // to write, one after the other
	TopTsg tsg;                     // target, from the picture
	Identity before;                // the target's channels when the question was asked
};

// Returns the identity of a TSG or of a channel that is in none. Ids are reused: a TSG with other channels is another
// TSG.
Identity identity_of(const Gpu &gpu, const TopTsg &tsg)
{
	const Runlist *rl = gpu.runlist(static_cast<u32>(tsg.runlist));
	Identity found;

	if (!rl || rl->err)
		return found;
	for (const Channel *c : rl->channels())
		if (tsg.bare ? c->id == static_cast<u32>(tsg.id) : c->tsg == tsg.id)
			found.insert({c->id, c->inst});
	return found;
}

class Top {
public:
	Top(const Options &options, const TopOptions &top_options, std::shared_ptr<const Source> source, TopFeeds feeds)
		: options_(options), top_options_(top_options), source_(std::move(source)), feeds_(std::move(feeds)),
		  together_(feeds_.size() > 1), alone_(together_ ? std::nullopt : std::optional<size_t>(0)),
		  terminal_(options.style().colour)
	{
	}

	void run(const StopSignals &stop)
	{
		using clock = std::chrono::steady_clock;
		clock::time_point next = clock::now();

		while (!stop.came() && !done_) {
			bool changed = false;
			for (const std::unique_ptr<TopFeed> &feed : feeds_)
				feed->drain();
			if (clock::now() >= next) {
				next = clock::now() + std::chrono::nanoseconds(top_options_.delay_ns);
				if (!view_.paused)
					refresh_all();
				changed = true;
			}
			for (int k = getch(); k != ERR; k = getch()) {
				handle_key(k);
				changed = true;
			}
			if (changed)
				draw();
			wait_for_key(next);
		}
	}

private:
	enum class Mode { Table, Filter, Confirm, Help };

	// Waits for a key, until the next screen is due or samples must be drained.
	void wait_for_key(std::chrono::steady_clock::time_point next)
	{
		using std::chrono::milliseconds;
		pollfd p{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
		auto left = std::chrono::ceil<milliseconds>(next - std::chrono::steady_clock::now());
		milliseconds time = std::clamp(left, milliseconds(0), top_options_.read_period);

		if (poll(&p, 1, static_cast<int>(time.count())) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)))
			done_ = true;
	}

	// The feeds on the screen: of the GPU that g chose, or of all.
	std::vector<TopFeed *> shown() const
	{
		std::vector<TopFeed *> list;

		for (size_t i = 0; i < feeds_.size(); i++)
			if (!alone_ || *alone_ == i)
				list.push_back(feeds_[i].get());
		return list;
	}

	std::vector<const Picture *> pictures() const
	{
		std::vector<const Picture *> list;

		for (const TopFeed *feed : shown())
			list.push_back(&feed->picture());
		return list;
	}

	// Of the GPU that a row is of.
	TopFeed *feed_of(const TopTsg &t) const
	{
		for (TopFeed *feed : shown())
			if (feed->gpu() && feed->gpu()->index == t.gpu)
				return feed;
		return nullptr;
	}

	void refresh_all()
	{
		for (const std::unique_ptr<TopFeed> &feed : feeds_)
			feed->refresh();
		schedule_ = schedule_status_text() + slots_text();
		update_rows();
	}

	// Sorts and filters the rows, and keeps the selected TSG selected.
	void update_rows()
	{
		all_rows_ = top_rows(pictures());
		rows_ = arrange(all_rows_, view_.sort, view_.filter);
		auto at =
			std::find_if(rows_.begin(), rows_.end(), [&](const TopTsg &t) { return t.key() == selected_; });
		if (at != rows_.end())
			at_ = static_cast<size_t>(at - rows_.begin());
		select_row(at_);
	}

	void select_row(size_t row)
	{
		at_ = rows_.empty() ? 0 : std::min(row, rows_.size() - 1);
		if (!rows_.empty())
			selected_ = rows_[at_].key();
	}

	/* -- keys -- */

	void handle_key(int k)
	{
		if (k == KEY_RESIZE)
			return;
		switch (mode_) {
		case Mode::Table: return handle_table_key(k);
		case Mode::Filter: return handle_filter_key(k);
		case Mode::Confirm: return handle_confirm_key(k);
		case Mode::Help: mode_ = Mode::Table; return;
		}
	}

	void handle_table_key(int k)
	{
		size_t page = static_cast<size_t>(std::max(1, table_lines_));

		message_.clear();
		switch (k) {
		case 'q': done_ = true; return;
		case 'j':
		case KEY_DOWN: return select_row(at_ + 1);
		case 'k':
		case KEY_UP: return select_row(at_ - std::min<size_t>(at_, 1));
		case KEY_NPAGE: return select_row(at_ + page);
		case KEY_PPAGE: return select_row(at_ - std::min(at_, page));
		case 's':
			view_.sort = static_cast<TopSort>((static_cast<int>(view_.sort) + 1) % 4);
			return update_rows();
		case '/': mode_ = Mode::Filter; return;
		case 27: return set_filter("");
		case 'p':
		case ' ': view_.paused = !view_.paused; return;
		case 'd': return ask_channels("disable");
		case 'e': return ask_channels("enable");
		case 'x': return ask_preempt();
		case 'g': return show_next_gpu();
		case '+':
		case '-': return change_period(k == '-');
		case '?': mode_ = Mode::Help; return;
		default: return;
		}
	}

	void set_filter(const std::string &text)
	{
		view_.filter = text;
		update_rows();
	}

	void handle_filter_key(int k)
	{
		if (k == 27)
			set_filter("");
		if (k == 27 || k == '\r' || k == '\n' || k == KEY_ENTER)
			mode_ = Mode::Table;
		else if ((k == KEY_BACKSPACE || k == 127 || k == 8) && !view_.filter.empty())
			set_filter(view_.filter.substr(0, view_.filter.size() - 1));
		else if (k >= ' ' && k <= '~' && view_.filter.size() < 30)
			set_filter(view_.filter + static_cast<char>(k));
	}

	void handle_confirm_key(int k)
	{
		mode_ = Mode::Table;
		if (k != 'y') {
			message_ = "nothing was written";
			return;
		}
		// Read the GPU again, because the picture may be old, e.g. when paused.
		try {
			Gpu now = load_live(options_.sources.proc, static_cast<unsigned>(request_.tsg.gpu));
			Identity is = identity_of(now, request_.tsg);
			if (is.empty() || is != request_.before) {
				message_ = "nothing was written: the TSG has changed or is gone";
				return;
			}
		} catch (const Error &e) {
			message_ = fmt::format("nothing was written: {}", e.what());
			return;
		}
		for (size_t i = 0; i < request_.texts.size(); i++) {
			int err = write_control(request_.path, request_.texts[i]);
			if (!err)
				continue;
			message_ = (i ? fmt::format("{} of {} written, then ", i, request_.texts.size()) : "") +
				   explain(err, request_.path, true, request_.texts[i]);
			return;
		}
		message_ =
			fmt::format("written to {}: {}", request_.path, join_some(request_.texts, MAX_NAMED_CHANNELS));
	}

	static std::string join_some(const std::vector<std::string> &all, size_t most)
	{
		std::string text;

		for (size_t i = 0; i < all.size() && i < most; i++)
			text += (i ? ", " : "") + all[i];
		return all.size() > most ? fmt::format("{} and {} more", text, all.size() - most) : text;
	}

	static const char *file_of(const std::string &command)
	{
		return std::find_if(CONTROLS, CONTROLS + CONTROL_COUNT,
				    [&](const Control &s) { return s.command == command; })
			->file;
	}

	// Returns the selected TSG; nullptr, with a message, if there is none that can be controlled.
	const TopTsg *selected_tsg()
	{
		const TopTsg *t = rows_.empty() || !feed_of(rows_[at_]) ? nullptr : &rows_[at_];

		if (!t)
			message_ = "no TSG is selected";
		else if (!feed_of(*t)->picture().has_runlists)
			message_ = "control needs the kernel module; NVIDIA's driver has no such requests";
		return message_.empty() ? t : nullptr;
	}

	std::string folder_of(const TopTsg &t) const { return fmt::format("{}/gpu{}/", options_.sources.proc, t.gpu); }

	std::string on_which_gpu(const TopTsg &t) const
	{
		return feeds_.size() > 1 ? fmt::format(" of gpu{}", t.gpu) : "";
	}

	void ask_channels(const std::string &command)
	{
		const TopTsg *t = selected_tsg();
		std::vector<std::string> names;

		if (!t)
			return;
		if (t->channels.empty()) {
			message_ = "the channels of this TSG are unknown";
			return;
		}
		const Gpu &gpu = *feed_of(*t)->gpu();
		request_ = {"", folder_of(*t) + file_of(command), {}, *t, identity_of(gpu, *t)};
		for (u32 c : t->channels) {
			names.push_back(std::to_string(c));
			request_.texts.push_back(qualified(gpu, static_cast<u32>(t->runlist), c));
		}
		request_.question =
			fmt::format("{} channel{} {}{} on runlist {}{}? y/n", command, names.size() == 1 ? "" : "s",
				    join_some(names, MAX_NAMED_CHANNELS),
				    t->bare ? "" : fmt::format(" of TSG {}", t->id), t->runlist, on_which_gpu(*t));
		mode_ = Mode::Confirm;
	}

	void ask_preempt()
	{
		const TopTsg *t = selected_tsg();

		if (!t)
			return;
		if (t->bare) {
			message_ = "this channel is in no TSG";
			return;
		}
		const Gpu &gpu = *feed_of(*t)->gpu();
		request_ = {fmt::format("preempt TSG {} on runlist {}{}? y/n", t->id, t->runlist, on_which_gpu(*t)),
			    folder_of(*t) + file_of("preempt"),
			    {qualified(gpu, static_cast<u32>(t->runlist), static_cast<u32>(t->id))},
			    *t,
			    identity_of(gpu, *t)};
		mode_ = Mode::Confirm;
	}

	void show_next_gpu()
	{
		try {
			add_new_gpus();
		} catch (const Error &e) {
			message_ = e.what();
			return;
		}
		if (feeds_.size() == 1) {
			message_ = "there is no other GPU";
			return;
		}
		size_t next = alone_ ? *alone_ + 1 : 0;
		if (next < feeds_.size())
			alone_ = next;
		else
			alone_ = together_ ? std::nullopt : std::optional<size_t>(0);
		view_.paused = false;
		at_ = 0;
		selected_ = {};
		refresh_all();
	}

	// A GPU may have come since the beginning.
	void add_new_gpus()
	{
		for (unsigned x : source_->numbers())
			if (std::none_of(feeds_.begin(), feeds_.end(), [x](const auto &f) { return f->index() == x; }))
				feeds_.push_back(std::make_unique<TopFeed>(source_, x, top_options_));
	}

	void change_period(bool longer)
	{
		for (TopFeed *feed : shown())
			if (!feed->change_period(longer))
				message_ = feed->no_samples().empty() ? "the sampling period is limited to 10 us .. 1 s"
								      : "there are no samples";
	}

	/* -- drawing -- */

	void draw()
	{
		int height = getmaxy(stdscr), width = getmaxx(stdscr);

		erase();
		if (height < MIN_LINES || width < MIN_COLUMNS) {
			terminal_.line(0, fmt::format("terminal too small: {}x{}", width, height));
			terminal_.line(1, fmt::format("{}x{} is needed", MIN_COLUMNS, MIN_LINES));
			refresh();
			return;
		}
		std::vector<TopPart> parts;
		for (const TopFeed *feed : shown())
			parts.push_back(feed->part());
		terminal_.line(0, title_of(parts), A_BOLD);
		terminal_.line(1, top_sampling(parts, top_options_.delay_ns));
		if (mode_ == Mode::Help)
			draw_help();
		else
			draw_table(draw_notes(draw_engines(2, (height - 8) / 2 - further_notes()), height), height - 2);
		draw_bottom(height);
		refresh();
	}

	static std::string title_of(const std::vector<TopPart> &parts)
	{
		std::string text;

		if (parts.size() == 1)
			return parts[0].picture->title;
		for (const TopPart &part : parts)
			text += (text.empty() ? "" : ", ") + part.picture->short_title;
		return fmt::format("{} GPUs: {}", parts.size(), text);
	}

	// Notes beyond the first: engines leave room for them, so that each GPU has its own.
	int further_notes() const
	{
		int notes = 0;

		for (const Picture *p : pictures())
			notes += static_cast<int>(p->notes.size());
		return std::max(notes - 1, 0);
	}

	// What is not known of the GPUs, and the policy over programs, where there is room.
	int draw_notes(int y, int height) const
	{
		for (const Picture *p : pictures())
			for (const std::string &note : p->notes)
				if (y < height / 2)
					terminal_.line(y++, note, A_DIM);
		std::istringstream schedule(schedule_);
		for (std::string line; y < height / 2 && std::getline(schedule, line);)
			terminal_.line(y++, line);
		return y;
	}

	// Draws at most max_lines engines from line y on; of several GPUs the busiest. Returns the next line.
	int draw_engines(int y, int max_lines)
	{
		std::vector<TopEngine> all;
		for (const Picture *p : pictures())
			for (TopEngine e : p->engines) {
				if (!alone_)
					e.name = fmt::format("{}:{}", p->index, e.name);
				all.push_back(std::move(e));
			}
		if (pictures().size() > 1)
			std::stable_sort(all.begin(), all.end(), [](const TopEngine &a, const TopEngine &b) {
				return a.on.value_or(0) > b.on.value_or(0);
			});
		size_t room = static_cast<size_t>(std::max(max_lines, 1));
		size_t shown = all.size() > room ? room - (room > 1) : all.size();

		terminal_.line(y++, top_engine_titles(), A_BOLD);
		for (size_t i = 0; i < shown; i++)
			terminal_.line(y++, top_engine_line(all[i]), A_NORMAL, all[i].idle ? 0 : 1);
		if (shown < all.size() && room > 1)
			terminal_.line(y++, fmt::format("      and {} more engines", all.size() - shown), A_DIM);
		return y;
	}

	void draw_table(int y, int end)
	{
		TopColumns columns = TopColumns::of(pictures(), static_cast<size_t>(getmaxx(stdscr)));
		terminal_.line(y++, top_view_line(view_, rows_.size(), all_rows_), view_.paused ? A_BOLD : A_NORMAL,
			       view_.paused ? 2 : 0);
		terminal_.line(y++, fmt::format(" {}", top_tsg_titles(columns)), A_BOLD);
		table_lines_ = end - y;
		size_t room = static_cast<size_t>(std::max(table_lines_, 1));
		first_ = std::min(first_, at_);
		first_ = std::max(first_, at_ + 1 - std::min(at_ + 1, room));
		for (size_t i = first_; i < rows_.size() && i < first_ + room; i++) {
			const TopTsg &t = rows_[i];
			terminal_.line(y++, fmt::format("{}{}", i == at_ ? '>' : ' ', top_tsg_line(t, columns)),
				       i == at_ ? A_REVERSE : A_NORMAL,
				       t.faulted   ? 3
				       : t.off     ? 2
				       : t.running ? 1
						   : 0);
		}
	}

	void draw_help()
	{
		int y = 2;

		// A small terminal shows only the first lines; the last lines explain columns.
		for (const std::string &line : top_help())
			if (y < getmaxy(stdscr) - 2)
				terminal_.line(y++, line);
	}

	void draw_bottom(int height)
	{
		std::string error;
		for (const TopFeed *feed : shown())
			if (!feed->refresh_error().empty())
				error += (error.empty() ? "" : "; ") + feed->refresh_error();
		std::string text = mode_ == Mode::Confirm  ? request_.question
				   : mode_ == Mode::Filter ? "filter: " + view_.filter + "_"
				   : !message_.empty()     ? message_
				   : !error.empty()        ? "not readable, showing the last state: " + error
							   : "";

		terminal_.line(height - 2, text, A_BOLD, mode_ == Mode::Table && !error.empty() ? 3 : 2);
		terminal_.line(height - 1, "q quit  s sort  / filter  p pause  d e x control  g GPU  ? help", A_DIM);
	}

	const Options &options_;
	const TopOptions &top_options_;
	std::shared_ptr<const Source> source_;
	TopFeeds feeds_;
	bool together_;               // all GPUs may be on one screen: more than one was asked for
	std::optional<size_t> alone_; // of feeds_; nothing: all of them are shown
	Terminal terminal_;
	TopView view_;
	Mode mode_ = Mode::Table;
	Request request_;
	std::vector<TopTsg> all_rows_, rows_;
	std::tuple<int, int, bool, int> selected_{};
	size_t at_ = 0, first_ = 0;
	int table_lines_ = 0;
	std::string message_, schedule_;
	bool done_ = false;
};

} // namespace

int run_screen(const Options &options, const TopOptions &top_options, const std::shared_ptr<const Source> &source,
	       TopFeeds feeds)
{
	// Before curses is initialized, which then keeps these signal handlers.
	StopSignals stop;
	Top top(options, top_options, source, std::move(feeds));

	top.run(stop);
	return EXIT_DONE;
}

} // namespace tool
