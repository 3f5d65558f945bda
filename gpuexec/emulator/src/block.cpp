#include "block.h"

#include <stdio.h>

#include "watch.h"

namespace emulator {

Block *running;
Watch *watch;

namespace {

constexpr unsigned touches_a_turn = 4096;
constexpr unsigned idle_turns = 1 << 20; // a second or so: then nothing will ever happen

// Threads 3, 4, 5 and 9 as "threads 3-5, 9".
std::string ranges(const std::vector<unsigned> &threads) {
  std::string text = threads.size() == 1 ? "thread " : "threads ";
  for (size_t i = 0; i < threads.size();) {
    size_t j = i + 1;
    while (j < threads.size() && threads[j] == threads[j - 1] + 1) j++;
    if (i > 0) text += ", ";
    text += std::to_string(threads[i]);
    if (j > i + 1) text += "-" + std::to_string(threads[j - 1]);
    i = j;
  }
  return text;
}

std::string place(Site site) {
  std::string file = site.file ? site.file : "?";
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(site.line);
}

std::string triple(unsigned x, unsigned y, unsigned z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}

const char *name(Meeting m) {
  static const char *const names[] = {"nothing",          "__syncthreads",   "__syncthreads_count", "__syncthreads_and",
                                      "__syncthreads_or", "__syncwarp",      "__shfl_sync",         "__shfl_up_sync",
                                      "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync",       "__any_sync",
                                      "__all_sync",       "__match_any_sync", "__reduce_add_sync",  "__reduce_min_sync",
                                      "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync",
                                      "__reduce_or_sync", "__reduce_xor_sync"};
  return names[static_cast<int>(m)];
}

bool of_block(Meeting m) { return m >= Meeting::syncthreads && m <= Meeting::syncthreads_or; }

bool same(Site a, Site b) { return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0); }

std::string hex(unsigned v) {
  char text[16];
  snprintf(text, sizeof text, "0x%08x", v);
  return text;
}

} // namespace

void Block::run(const Grid &grid, uint3 index, uint64_t seed) {
  running = this;
  grid_ = &grid;
  index_ = index;
  prepare();
  random_ = seed;
  outside_.bottom = nullptr; // to be asked for again: another thread may have come
  self_ = nullptr;
  turn(threads_[0]);
}

void Block::prepare() {
  const dim3 &size = grid_->block;
  unsigned n = size.x * size.y * size.z;
  stacks_.reserve(n);
  threads_.resize(n);
  warps_.assign((n + 31) / 32, {0, 0});
  for (unsigned i = 0; i < n; i++) {
    Thread &t = threads_[i];
    t.index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    t.warp = i / 32;
    t.lane = i % 32;
    t.meeting = Meeting::none;
    t.copies.clear();
    t.groups = 0;
    t.polled = false;
    stacks_.prepare(i, t.context, entry, t.done);
    t.done = false;
    warps_[t.warp].live |= 1u << t.lane;
    warps_[t.warp].runnable |= 1u << t.lane;
  }
  live_ = n;
  arrived_ = count_ = 0;
  touches_ = idle_ = 0;
  report_.clear();
}

void Block::entry() {
  Block &block = *running;
  // Only the first thread of a block comes from outside; its arrival tells the sanitizer where that is.
  arrive(block.self_->context, block.outside_.bottom ? nullptr : &block.outside_);
  block.grid_->kernel(block.grid_->args);
  block.end();
}

// Scheduling.

Thread *Block::pick() {
  if (random_) return pick_any();
  unsigned lane = self_->lane, warp = self_->warp;
  unsigned later = warps_[warp].runnable & ~((2u << lane) - 1);
  if (later) return &threads_[warp * 32 + __builtin_ctz(later)];
  for (unsigned i = 1; i <= warps_.size(); i++) { // other warps, then this one from its first lane
    unsigned w = (warp + i) % warps_.size();
    if (warps_[w].runnable) return &threads_[w * 32 + __builtin_ctz(warps_[w].runnable)];
  }
  return nullptr;
}

// The same from a warp and a lane by lot.
Thread *Block::pick_any() {
  random_ = random_ * 6364136223846793005 + 1442695040888963407; // Knuth's MMIX
  unsigned warp = random_ >> 40, lane = random_ >> 59;
  for (unsigned i = 0; i < warps_.size(); i++) {
    unsigned w = (warp + i) % warps_.size(), lanes = warps_[w].runnable;
    if (!lanes) continue;
    unsigned later = lanes & ~0u << lane;
    return &threads_[w * 32 + __builtin_ctz(later ? later : lanes)];
  }
  return nullptr;
}

void Block::turn(Thread &next) {
  Thread *before = self_;
  if (before == &next) return;
  self_ = &next;
  threadIdx = next.index;
  touches_ = 0;
  switch_context(before ? before->context : outside_, next.context, before && before->done);
}

void Block::hand_over() {
  Thread *next = pick();
  if (!next) {
    blame("threads wait for one another");
    leave();
  }
  turn(*next);
}

void Block::end() {
  Thread &self = *self_;
  if (!self.copies.empty()) {
    blame(who() + " ends before its copy_async has been waited for");
    leave();
  }
  self.done = true;
  idle_ = 0;
  Warp &warp = warps_[self.warp];
  warp.live &= ~(1u << self.lane);
  warp.runnable &= ~(1u << self.lane);
  if (--live_ == 0) leave();
  if (arrived_ == live_) release_barrier();
  for (unsigned lanes = warp.live & ~warp.runnable; lanes; lanes &= lanes - 1) { // may have waited for this one only
    const Thread &t = threads_[self.warp * 32 + __builtin_ctz(lanes)];
    if (t.meeting == Meeting::none || of_block(t.meeting) || !complete(warp, t)) continue;
    exchange(warp, t, t.mask & warp.live);
    break;
  }
  hand_over();
}

std::string Block::who() const { return ranges({static_cast<unsigned>(self_ - threads_.data())}); }

void Block::blame(const std::string &what) { report_ = describe(what); }

void Block::leave() {
  switch_context(self_->context, outside_, true);
  __builtin_unreachable();
}

std::string Block::describe(const std::string &what) const {
  std::string text = std::string("kernel ") + grid_->name + ", block " + triple(index_.x, index_.y, index_.z) + " of " +
                     triple(grid_->grid.x, grid_->grid.y, grid_->grid.z) + ", " + std::to_string(threads_.size()) +
                     " threads: " + what;
  std::vector<bool> told(threads_.size());
  for (size_t i = 0; i < threads_.size(); i++) {
    const Thread &t = threads_[i];
    if (told[i] || t.done || t.meeting == Meeting::none) continue;
    std::vector<unsigned> group;
    for (size_t j = i; j < threads_.size(); j++) {
      const Thread &u = threads_[j];
      if (u.done || u.meeting != t.meeting || !same(u.site, t.site)) continue;
      if (!of_block(t.meeting) && (u.mask != t.mask || u.warp != t.warp)) continue;
      told[j] = true;
      group.push_back(j);
    }
    text += "\n\t" + ranges(group) + (group.size() == 1 ? " waits in " : " wait in ") + name(t.meeting);
    if (!of_block(t.meeting)) text += "(" + hex(t.mask) + ")";
    text += " at " + place(t.site);
  }
  std::vector<unsigned> ended;
  for (size_t i = 0; i < threads_.size(); i++)
    if (threads_[i].done) ended.push_back(i);
  if (!ended.empty()) text += "\n\t" + ranges(ended) + (ended.size() == 1 ? " has ended" : " have ended");
  return text;
}

// Meetings of a block.

int Block::meet_block(Meeting meeting, int predicate, Site site) {
  Thread &self = *self_;
  self.meeting = meeting;
  self.site = site;
  idle_ = 0;
  if (arrived_ == 0) first_ = &self;
  if (first_->meeting != meeting || !same(first_->site, site)) {
    blame("divergent barrier");
    leave();
  }
  arrived_++;
  count_ += predicate != 0;
  warps_[self.warp].runnable &= ~(1u << self.lane);
  if (arrived_ == live_)
    release_barrier();
  else
    hand_over();
  return static_cast<int>(self.result);
}

void Block::release_barrier() {
  if (arrived_ == 0) return;
  if (watch) watch->barrier();
  for (Thread &t : threads_) {
    if (t.done) continue;
    switch (t.meeting) {
    case Meeting::syncthreads_and:
      t.result = count_ == static_cast<int>(arrived_);
      break;
    case Meeting::syncthreads_or:
      t.result = count_ > 0;
      break;
    default:
      t.result = count_;
    }
    t.meeting = Meeting::none;
  }
  for (Warp &w : warps_) w.runnable = w.live;
  arrived_ = count_ = 0;
}

// Waiting in loops.

void Block::polls(Site site) {
  if (++idle_ > idle_turns) {
    blame("a loop at " + place(site) + " waits for what no other thread of the block does");
    leave();
  }
  self_->polled = true;
  Thread *next = pick();
  if (next) turn(*next);
}

void Block::touched() {
  if (++touches_ < touches_a_turn) return;
  touches_ = 0;
  if ((idle_ += 16) > idle_turns) {
    blame("a loop of atomics does not end");
    leave();
  }
  Thread *next = pick();
  if (next) turn(*next);
}

// What kernels call.

int meet_block(Meeting meeting, int predicate, Site site) { return running->meet_block(meeting, predicate, site); }
uint64_t meet_warp(Meeting meeting, unsigned mask, uint64_t value, int shift, int width, Site site) {
  return running->meet_warp(meeting, mask, value, shift, width, site);
}
void polls(Site site) { running->polls(site); }
void touched(const void *p, size_t size, bool write, const void *from) {
  if (watch) watch->atomic(p, size, write, from);
  running->touched();
}
void fences() {
  if (watch) watch->fence(running->self().warp * 32 + running->self().lane);
}
unsigned active() { return running->active(); }
void trap(Site site) {
  running->blame(running->who() + " hit __trap at " + place(site));
  running->leave();
}

} // namespace emulator
