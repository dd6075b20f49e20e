@testable import HTTPServer
import NIOCore
import NIOPosix
import Synchronization
import Testing

@Suite("A task on an event loop", .timeLimit(.minutes(1)))
struct EventLoopExecutorTests {
    private let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    @Test("Runs there, also after it has waited for something elsewhere")
    func stays() async throws {
        await withTaskExecutorPreference(EventLoopExecutor(eventLoop)) {
            #expect(eventLoop.inEventLoop)
            await Task.detached { #expect(!eventLoop.inEventLoop) }.value
            #expect(eventLoop.inEventLoop)
        }
    }

    @Test("Begins where it is begun, and goes on there when what it waited for is there")
    func beginsAtOnce() async throws {
        let executor = EventLoopExecutor(eventLoop)
        let steps = Mutex<[String]>([])
        let (gate, open) = AsyncStream.makeStream(of: Never.self)
        let task = try await eventLoop.submit {
            let task = executor.begin {
                steps.withLock { $0.append("begun") }
                for await _ in gate {}
                #expect(eventLoop.inEventLoop)
                steps.withLock { $0.append("ended") }
            }
            steps.withLock { $0.append("waits") }
            return task
        }.get()
        open.finish()
        await task.value
        #expect(steps.withLock { $0 } == ["begun", "waits", "ended"])
    }

    @Test("One that is begun by another begins when that one waits or ends")
    func beginsAfterItsBeginner() async throws {
        let executor = EventLoopExecutor(eventLoop)
        let steps = Mutex<[String]>([])
        let inner = try await eventLoop.submit {
            let inner = Mutex<Task<Void, Never>?>(nil)
            _ = executor.begin {
                let task = executor.begin { steps.withLock { $0.append("inner") } }
                inner.withLock { $0 = task }
                steps.withLock { $0.append("outer") }
            }
            return inner.withLock { $0 }
        }.get()
        await inner?.value
        #expect(steps.withLock { $0 } == ["outer", "inner"])
    }

    @Test("Many that are told at once, from elsewhere, each go on once")
    func manyAtOnce() async throws {
        let executor = EventLoopExecutor(eventLoop)
        let (gate, open) = AsyncStream.makeStream(of: Never.self)
        let waiting = Task.detached { for await _ in gate {} }
        let count = Atomic(0)
        let tasks = try await eventLoop.submit {
            (0..<1000).map { _ in
                executor.begin {
                    await waiting.value
                    count.wrappingAdd(1, ordering: .relaxed)
                }
            }
        }.get()
        open.finish()
        for task in tasks { await task.value }
        #expect(count.load(ordering: .relaxed) == 1000)
    }
}
