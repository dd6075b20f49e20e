package import NIOCore
import Synchronization

/// Runs tasks on the event loop of their connection.
///
/// Code that answers a request never blocks: a wait for the database or another process suspends. The rest is
/// computing, mostly cryptography: 50 µs with ES256, 230 µs where RS256 signs. It delays other connections no longer
/// here than in the queue of the shared pool. The pool would cost four changes of thread, there and back for the
/// request and for the database's answer: a tenth of all processor time.
final class EventLoopExecutor: TaskExecutor {
    private enum Turn: UInt8, AtomicRepresentable {
        case none
        /// The next job begins a task, and runs at once.
        case beginning
        case running
    }

    private let eventLoop: any EventLoop
    /// Jobs from other threads, for example a batch of the database's answers. They wake the event loop once.
    private let jobs = Mutex<[UnownedJob]>([])
    /// Used on the event loop only.
    private let turn = Atomic(Turn.none)

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Begins a task and runs it until its first suspension. Call it on the event loop.
    func begin(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        eventLoop.assertInEventLoop()
        // A task that begins another one continues first.
        if turn.load(ordering: .relaxed) == .none { turn.store(.beginning, ordering: .relaxed) }
        return Task(executorPreference: self, operation: operation)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if eventLoop.inEventLoop, turn.load(ordering: .relaxed) == .beginning { return run(CollectionOfOne(job)) }
        let isFirst = jobs.withLock { jobs in
            jobs.append(job)
            return jobs.count == 1
        }
        if isFirst { eventLoop.execute { self.runAll() } }
    }

    private func runAll() {
        let jobs = jobs.withLock { jobs in
            let all = jobs
            jobs = []
            return all
        }
        run(jobs)
    }

    private func run(_ jobs: some Collection<UnownedJob>) {
        turn.store(.running, ordering: .relaxed)
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        turn.store(.none, ordering: .relaxed)
    }
}

/// One executor per event loop, shared by all its connections.
package final class EventLoopExecutors: Sendable {
    private let executors: [ObjectIdentifier: EventLoopExecutor]

    package init(_ group: any EventLoopGroup) {
        let all = group.makeIterator().map { (ObjectIdentifier($0), EventLoopExecutor($0)) }
        executors = Dictionary(all) { first, _ in first }
    }

    func executor(of eventLoop: any EventLoop) -> EventLoopExecutor {
        executors[ObjectIdentifier(eventLoop)] ?? EventLoopExecutor(eventLoop)
    }
}
