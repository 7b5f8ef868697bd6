// Tests decisions as text: a partition goes in, steps and memory come out.
#include "compiler/memory/memory_plan.h"
#include "compiler/schedule/schedule.h"
#include "test/compiler/support/dump_text.h"
#include "test/compiler/support/partition_text.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

struct Texts {
  std::string steps;
  std::string memory;
};

Texts texts_of(const ir::Graph& graph, const DeviceProfile& profile, const std::string& partition) {
  const PartitionPlan plan = partition_of(graph, profile, partition);
  CHECK(test::error_of(check_partition(graph, plan)) == "");
  Schedule schedule = test::value_of(make_schedule(graph, plan, LatencyPredictor(profile), "test"));
  CHECK(test::error_of(check_races(graph, schedule)) == "");
  CHECK(test::error_of(plan_memory(schedule, profile)) == "");
  CHECK(test::error_of(check_memory_plan(schedule)) == "");
  return {without_times(print(schedule)), print_memory(schedule)};
}

// A 3x3 convolution of 16 channels on 8 rows of 4 pixels, then another: a row has 4 * 16 * 4 = 256
// bytes.
ir::Graph two_convs(int32_t out_channels = 16) {
  test::GraphBuilder builder(16, 8, 4);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  return builder.finish(builder.conv("b", a, out_channels));
}

TEST_CASE("one processor: steps in the graph's order, nothing waits") {
  const ir::Graph graph = two_convs();
  const Texts texts = texts_of(graph, test::test_profile(Sharing::FineSvm), R"(
    to_nhwc cpu
    a cpu
    b cpu
    to_plain cpu)");
  CHECK(texts.steps == R"(variant test
0 cpu convert_f32_cpu to_nhwc in=t0 out=t1 waits=[]
1 cpu conv2d_f32_cpu a in=t1,t5,t6 out=t2 waits=[]
2 cpu conv2d_f32_cpu b in=t2,t7,t8 out=t3 waits=[]
3 cpu convert_f32_cpu to_plain in=t3 out=t4 waits=[]
)");
  // b is written after to_nhwc's result is dead.
  CHECK(texts.memory == R"(t1 to_nhwc host offset=0 bytes=2048 steps=[0,1]
t2 a host offset=2048 bytes=2048 steps=[1,2]
t3 b host offset=0 bytes=2048 steps=[2,3]
host_bytes=4096 shared_bytes=0 device_bytes=0
)");
}

TEST_CASE(
    "fine-grained memory: a split node's parts write one tensor, and wait for each other's rows") {
  const ir::Graph graph = two_convs();
  const Texts texts = texts_of(graph, test::test_profile(Sharing::FineSvm), R"(
    to_nhwc cpu
    a rows 4
    b rows 4
    to_plain cpu)");
  CHECK(texts.steps == R"(variant test
0 cpu convert_f32_cpu to_nhwc in=t0 out=t1 waits=[]
1 gpu conv2d_f32_cl_buffer a rows[0,4) in=t1,t5,t6 out=t2 waits=[0]
2 cpu conv2d_f32_cpu a rows[4,8) in=t1,t5,t6 out=t2 waits=[]
3 gpu conv2d_f32_cl_buffer b rows[0,4) in=t2,t7,t8 out=t3 waits=[2]
4 cpu conv2d_f32_cpu b rows[4,8) in=t2,t7,t8 out=t3 waits=[1]
5 cpu convert_f32_cpu to_plain in=t3 out=t4 waits=[3]
)");
  CHECK(texts.memory == R"(t1 to_nhwc shared offset=0 bytes=2048 steps=[0,2]
t2 a shared offset=2048 bytes=2048 steps=[1,4]
t3 b shared offset=0 bytes=2048 steps=[3,5]
host_bytes=0 shared_bytes=4096 device_bytes=0
)");
}

// The GPU's rows [0, 4) of a 3x3 convolution read rows [0, 5), the CPU's [4, 8) read [3, 8).
TEST_CASE("separate memory: rows at the cut are copied both ways") {
  const ir::Graph graph = two_convs();
  const Texts texts = texts_of(graph, test::test_profile(Sharing::Separate), R"(
    to_nhwc cpu
    a rows 4
    b rows 4
    to_plain cpu)");
  CHECK(texts.steps == R"(variant test
0 cpu convert_f32_cpu to_nhwc in=t0 out=t1 waits=[]
1 transfer upload x_nhwc rows[0,5) in=t1 out=t2 waits=[0]
2 gpu conv2d_f32_cl_buffer a rows[0,4) in=t2,t8,t9 out=t4 waits=[1]
3 cpu conv2d_f32_cpu a rows[4,8) in=t1,t8,t9 out=t3 waits=[]
4 transfer upload a_out rows[4,5) in=t3 out=t4 waits=[3]
5 gpu conv2d_f32_cl_buffer b rows[0,4) in=t4,t10,t11 out=t6 waits=[4]
6 transfer download a_out rows[3,4) in=t4 out=t3 waits=[2]
7 transfer download b_out rows[0,4) in=t6 out=t5 waits=[5]
8 cpu conv2d_f32_cpu b rows[4,8) in=t3,t10,t11 out=t5 waits=[6]
9 cpu convert_f32_cpu to_plain in=t5 out=t7 waits=[7]
)");
  // Each memory has only the rows of a value that are computed or read there: 5 of 8 are 1280
  // bytes. Places on the device are multiples of 1024.
  CHECK(texts.memory == R"(t1 to_nhwc host offset=0 bytes=2048 steps=[0,3]
t2 x_nhwc device offset=0 bytes=1280 steps=[1,2]
t3 a host offset=2048 bytes=1280 steps=[3,8]
t4 a device offset=2048 bytes=1280 steps=[2,6]
t5 b_out host offset=0 bytes=2048 steps=[7,9]
t6 b device offset=0 bytes=1024 steps=[5,7]
host_bytes=3328 shared_bytes=0 device_bytes=4096
)");
}

// For its rows [0, 4) of b the GPU computes rows [0, 5) of a, for which it reads [0, 6) of x.
TEST_CASE("a chain computes its halo twice and transfers nothing inside") {
  const ir::Graph graph = two_convs();
  const Texts texts = texts_of(graph, test::test_profile(Sharing::Separate), R"(
    to_nhwc cpu
    a rows 4 chain=0
    b rows 4 chain=0
    to_plain cpu)");
  CHECK(texts.steps == R"(variant test
0 cpu convert_f32_cpu to_nhwc in=t0 out=t1 waits=[]
1 transfer upload x_nhwc rows[0,6) in=t1 out=t2 waits=[0]
2 gpu conv2d_f32_cl_buffer a rows[0,5) in=t2,t8,t9 out=t4 waits=[1]
3 gpu conv2d_f32_cl_buffer b rows[0,4) in=t4,t10,t11 out=t6 waits=[]
4 transfer download b_out rows[0,4) in=t6 out=t5 waits=[3]
5 cpu conv2d_f32_cpu a rows[3,8) in=t1,t8,t9 out=t3 waits=[]
6 cpu conv2d_f32_cpu b rows[4,8) in=t3,t10,t11 out=t5 waits=[]
7 cpu convert_f32_cpu to_plain in=t5 out=t7 waits=[4]
)");
  // b's rows may come from the GPU while the CPU still reads x and a, so b_out lies after both.
  CHECK(texts.memory == R"(t1 to_nhwc host offset=0 bytes=2048 steps=[0,5]
t2 x_nhwc device offset=0 bytes=1536 steps=[1,2]
t3 a host offset=4096 bytes=1280 steps=[5,6]
t4 a device offset=2048 bytes=1280 steps=[2,3]
t5 b_out host offset=2048 bytes=2048 steps=[4,7]
t6 b device offset=0 bytes=1024 steps=[3,4]
host_bytes=5376 shared_bytes=0 device_bytes=4096
)");
}

TEST_CASE("a mapped sub-buffer: the CPU touches a shared tensor between map and unmap") {
  const ir::Graph graph = two_convs();
  const Texts texts = texts_of(graph, test::test_profile(Sharing::SubBuffer), R"(
    to_nhwc cpu
    a gpu
    b cpu
    to_plain cpu)");
  CHECK(texts.steps == R"(variant test
0 gpu map x_nhwc in=t1 waits=[]
1 cpu convert_f32_cpu to_nhwc in=t0 out=t1 waits=[0]
2 gpu unmap x_nhwc in=t1 waits=[1]
3 gpu conv2d_f32_cl_buffer a in=t1,t5,t6 out=t2 waits=[]
4 gpu map a_out in=t2 waits=[]
5 cpu conv2d_f32_cpu b in=t2,t7,t8 out=t3 waits=[4]
6 gpu unmap a_out in=t2 waits=[5]
7 cpu convert_f32_cpu to_plain in=t3 out=t4 waits=[]
)");
  CHECK(texts.memory == R"(t1 x_nhwc shared offset=0 bytes=2048 steps=[0,3]
t2 a shared offset=2048 bytes=2048 steps=[3,6]
t3 b host offset=0 bytes=2048 steps=[5,7]
host_bytes=2048 shared_bytes=4096 device_bytes=0
)");
}

TEST_CASE("images: a value that the CPU made is converted before the GPU reads it, and back") {
  const ir::Graph graph = two_convs(32);
  const Texts texts = texts_of(graph, test::test_profile(Sharing::FineSvm, Layout::Image2d), R"(
    to_nhwc cpu
    a gpu
    b channels 16
    to_plain cpu)");
  CHECK(texts.steps == R"(variant test
0 cpu convert_f32_cpu to_nhwc in=t0 out=t1 waits=[]
1 gpu convert_f32_cl_to_image x_nhwc in=t1 out=t2 waits=[0]
2 gpu conv2d_f32_cl_image a in=t2,t8,t9 out=t4 waits=[]
3 gpu convert_f32_cl_from_image a_out in=t4 out=t3 waits=[]
4 gpu conv2d_f32_cl_image b channels[0,16) in=t4,t10,t11 out=t6 waits=[]
5 gpu convert_f32_cl_from_image b_out channels[0,16) in=t6 out=t5 waits=[]
6 cpu conv2d_f32_cpu b channels[16,32) in=t3,t10,t11 out=t5 waits=[3]
7 cpu convert_f32_cpu to_plain in=t5 out=t7 waits=[5]
)");
  // A texel has 4 channels: 4 pixels of 16 channels are 16 texels, of 32 they are 32. b takes the
  // image that held x.
  CHECK(texts.memory == R"(t1 to_nhwc shared offset=0 bytes=2048 steps=[0,1]
t2 x_nhwc image number=0 width=16 height=8 steps=[1,2]
t3 a_out shared offset=4096 bytes=2048 steps=[3,6]
t4 a image number=1 width=16 height=8 steps=[2,4]
t5 b_out shared offset=0 bytes=4096 steps=[5,7]
t6 b image number=0 width=32 height=8 steps=[4,5]
host_bytes=0 shared_bytes=6144 device_bytes=0
image 0 32x8 f32
image 1 16x8 f32
)");
}

TEST_CASE("images and buffers on the GPU: it converts between them, and nothing waits") {
  const ir::Graph graph = test::three_convs();
  const Texts texts = texts_of(graph, test::test_profile(Sharing::SubBuffer, Layout::Image2d), R"(
    to_nhwc cpu
    a gpu
    b gpu buffer
    c gpu
    to_plain cpu)");
  CHECK(texts.steps == R"(variant test
0 gpu map x_nhwc in=t1 waits=[]
1 cpu convert_f32_cpu to_nhwc in=t0 out=t1 waits=[0]
2 gpu unmap x_nhwc in=t1 waits=[1]
3 gpu convert_f32_cl_to_image x_nhwc in=t1 out=t2 waits=[]
4 gpu conv2d_f32_cl_image a in=t2,t10,t11 out=t3 waits=[]
5 gpu convert_f32_cl_from_image a_out in=t3 out=t4 waits=[]
6 gpu conv2d_f32_cl_buffer b in=t4,t12,t13,t4 out=t5 waits=[]
7 gpu convert_f32_cl_to_image b_out in=t5 out=t6 waits=[]
8 gpu conv2d_f32_cl_image c in=t6,t14,t15 out=t8 waits=[]
9 gpu convert_f32_cl_from_image c_out in=t8 out=t7 waits=[]
10 gpu map c_out in=t7 waits=[]
11 cpu convert_f32_cpu to_plain in=t7 out=t9 waits=[10]
12 gpu unmap c_out in=t7 waits=[11]
)");
}

TEST_CASE("images and buffers in a chain: each queue still has what it reads") {
  const ir::Graph graph = two_convs();
  const Texts texts = texts_of(graph, test::test_profile(Sharing::SubBuffer, Layout::Image2d), R"(
    to_nhwc cpu
    a rows 4 chain=0
    b rows 4 buffer chain=0
    to_plain cpu)");
  CHECK(texts.steps == R"(variant test
0 gpu map x_nhwc in=t1 waits=[]
1 gpu map b_out in=t6 waits=[]
2 cpu convert_f32_cpu to_nhwc in=t0 out=t1 waits=[0]
3 gpu unmap x_nhwc in=t1 waits=[2]
4 gpu map x_nhwc in=t1 waits=[]
5 gpu convert_f32_cl_to_image x_nhwc rows[0,6) in=t1 out=t2 waits=[]
6 gpu conv2d_f32_cl_image a rows[0,5) in=t2,t9,t10 out=t4 waits=[]
7 gpu convert_f32_cl_from_image a_out rows[0,5) in=t4 out=t5 waits=[]
8 gpu conv2d_f32_cl_buffer b rows[0,4) in=t5,t11,t12 out=t7 waits=[]
9 cpu conv2d_f32_cpu a rows[3,8) in=t1,t9,t10 out=t3 waits=[4]
10 gpu unmap x_nhwc in=t1 waits=[9]
11 cpu conv2d_f32_cpu b rows[4,8) in=t3,t11,t12 out=t6 waits=[]
12 gpu unmap b_out in=t6 waits=[11]
13 gpu convert_f32_cl_buffer b_out rows[0,4) in=t7 out=t6 waits=[]
14 gpu map b_out in=t6 waits=[]
15 cpu convert_f32_cpu to_plain in=t6 out=t8 waits=[14]
16 gpu unmap b_out in=t6 waits=[15]
)");
}

TEST_CASE("a buffer that both processors share is where the GPU reads it, too") {
  const ir::Graph graph = two_convs();
  const Texts texts = texts_of(graph, test::test_profile(Sharing::FineSvm, Layout::Image2d), R"(
    to_nhwc cpu
    a rows 4
    b gpu buffer
    to_plain cpu)");
  CHECK(texts.steps == R"(variant test
0 cpu convert_f32_cpu to_nhwc in=t0 out=t1 waits=[]
1 gpu convert_f32_cl_to_image x_nhwc rows[0,5) in=t1 out=t2 waits=[0]
2 gpu conv2d_f32_cl_image a rows[0,4) in=t2,t7,t8 out=t4 waits=[]
3 gpu convert_f32_cl_from_image a_out rows[0,4) in=t4 out=t3 waits=[]
4 cpu conv2d_f32_cpu a rows[4,8) in=t1,t7,t8 out=t3 waits=[]
5 gpu conv2d_f32_cl_buffer b in=t3,t9,t10 out=t5 waits=[4]
6 cpu convert_f32_cpu to_plain in=t5 out=t6 waits=[5]
)");
}

}  // namespace
}  // namespace codl::compiler
