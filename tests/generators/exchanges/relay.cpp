// A backend that only forwards to another one. PyTorch's hook for flight recorders leaves out the backends that record
// by themselves, of which gloo records no sends and receives; under a name of its own it is recorded like any other.

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/extension.h>

#include <atomic>
#include <map>
#include <mutex>

using c10d::Backend;
using c10d::Work;
using WorkPtr = c10::intrusive_ptr<Work>;
using Tensors = std::vector<at::Tensor>;

class Relay;

/// Tells the relay when it has been waited for.
class RelayWork : public Work {
 public:
  RelayWork(WorkPtr of, Relay* relay, uint64_t key) : of_(std::move(of)), relay_(relay), key_(key) {}
  bool isCompleted() override { return done_; }
  bool isSuccess() const override { return done_; }
  int sourceRank() const override { return of_->sourceRank(); }
  uint64_t getCompletionKey() const override { return key_; }
  bool wait(std::chrono::milliseconds timeout) override;

 private:
  WorkPtr of_;
  Relay* relay_;
  uint64_t key_;
  std::atomic<bool> done_{false};
};

class Relay : public Backend {
 public:
  Relay(c10::intrusive_ptr<Backend> to, int rank, int size, bool tells)
      : Backend(rank, size), to_(std::move(to)), tells_(tells) {}

  const std::string getBackendName() const override { return "relay"; }
  bool supportsCompletionHooks() const override { return tells_; }
  void registerCompletionHook(int64_t id, c10d::CompletionHook hook) override {
    std::lock_guard<std::mutex> guard(mutex_);
    hooks_[id] = std::move(hook);
  }
  void unregisterCompletionHook(int64_t id) override {
    std::lock_guard<std::mutex> guard(mutex_);
    hooks_.erase(id);
  }
  void completed(uint64_t key) {
    std::lock_guard<std::mutex> guard(mutex_);
    c10d::CompletionHookArgs arguments;
    arguments.completionKey = key;
    for (auto& [id, hook] : hooks_) hook(arguments);
  }

  WorkPtr send(Tensors& tensors, int to, int tag) override { return relayed(to_->send(tensors, to, tag)); }
  WorkPtr recv(Tensors& tensors, int from, int tag) override { return relayed(to_->recv(tensors, from, tag)); }
  WorkPtr recvAnysource(Tensors& tensors, int tag) override { return relayed(to_->recvAnysource(tensors, tag)); }
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return relayed(to_->allreduce(tensors, options));
  }
  WorkPtr barrier(const c10d::BarrierOptions& options) override { return relayed(to_->barrier(options)); }

 private:
  WorkPtr relayed(WorkPtr work) { return c10::make_intrusive<RelayWork>(std::move(work), this, keys_++); }

  c10::intrusive_ptr<Backend> to_;
  bool tells_;
  std::mutex mutex_;
  std::map<int64_t, c10d::CompletionHook> hooks_;
  std::atomic<uint64_t> keys_{1};
};

bool RelayWork::wait(std::chrono::milliseconds timeout) {
  bool success = of_->wait(timeout);
  if (!done_.exchange(true)) relay_->completed(key_);
  return success;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("make", [](c10::intrusive_ptr<Backend> to, int rank, int size, bool tells) -> c10::intrusive_ptr<Backend> {
    return c10::make_intrusive<Relay>(std::move(to), rank, size, tells);
  });
}
