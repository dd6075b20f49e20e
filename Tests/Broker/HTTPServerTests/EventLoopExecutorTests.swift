@testable import HTTPServer
import NIOCore
import NIOPosix
import Synchronization
import Testing

@Suite("A task on an event loop", .timeLimit(.minutes(1)))
struct EventLoopExecutorTests {
    private let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    @Test("A task runs on its event loop, also after it waited for another executor")
    func stays() async throws {
        await withTaskExecutorPreference(EventLoopExecutor(eventLoop)) {
            #expect(eventLoop.inEventLoop)
            await Task.detached { #expect(!eventLoop.inEventLoop) }.value
            #expect(eventLoop.inEventLoop)
        }
    }

    @Test("A task starts at once and resumes on its event loop")
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

    @Test("A task started by another begins when that one waits or ends")
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

    @Test("Many tasks resumed at once from elsewhere each run once")
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
