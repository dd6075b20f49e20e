package import NIOCore
import Synchronization

/// Lets tasks run on an event loop, on that of their connection.
///
/// Nothing that answers a request blocks: what has to wait, for the database or another process, suspends. What is left is
/// computing, most of it cryptography (50 µs with ES256, 230 µs where RS256 signs), which holds up other connections no
/// longer here than in the queue of the shared pool. Here it needs none of the four changes of thread that the pool costs,
/// there and back for the request and for the answer of the database: a tenth of all processor time.
final class EventLoopExecutor: TaskExecutor {
    private enum Turn: UInt8, AtomicRepresentable {
        case none
        /// The next job is the beginning of a task, and runs where it is begun.
        case beginning
        /// A job is running.
        case running
    }

    private let eventLoop: any EventLoop
    /// Jobs that came from elsewhere, a batch of the database's answers perhaps, which the event loop is told of once.
    private let jobs = Mutex<[UnownedJob]>([])
    /// Touched on the event loop only.
    private let turn = Atomic(Turn.none)

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Begins a task and runs it at once, until it waits for something. On the event loop.
    func begin(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        eventLoop.assertInEventLoop()
        // A task that begins another one goes on first.
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

/// One for each event loop, however many connections it has.
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
