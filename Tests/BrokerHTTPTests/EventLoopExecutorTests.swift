@testable import BrokerHTTP
import NIOCore
import NIOPosix
import Testing

@Suite("A task on an event loop", .timeLimit(.minutes(1)))
struct EventLoopExecutorTests {
    @Test("Runs there, also after it has waited for something elsewhere")
    func stays() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        await withTaskExecutorPreference(EventLoopExecutor(eventLoop)) {
            #expect(eventLoop.inEventLoop)
            await Task.detached { #expect(!eventLoop.inEventLoop) }.value
            #expect(eventLoop.inEventLoop)
        }
    }
}
