/// One thread with one connection: takes what is queued when it is its turn, sends it as one transaction, waits for its commit,
/// and takes what came meanwhile.
struct Lane {
    let core: LaneCore
    let number: Int

    /// An idle connection is looked at this often, so that a dead one is replaced before a call needs it.
    private static let idleCheck = Duration.seconds(5)

    func run() {
        core.search.withConnections(serve)
        core.laneEnded()
    }

    /// Runs batches until the connection is of no more use, or the lanes are closed and their queue empty.
    private func serve(_ connection: Connection) {
        defer { core.pause(number) }
        let runner = BatchRunner(core: core, connection: connection)
        var batch: [LaneCall] = []
        while connection.isUsable {
            switch core.next(&batch, on: number, until: .after(Self.idleCheck)) {
            case .nothing: if connection.isStale() { return }
            case .closed: return
            case .batch:
                guard !connection.isStale() else { return core.putBack(batch) }
                runner.run(batch)
                batch.removeAll(keepingCapacity: true)
            }
        }
    }
}
