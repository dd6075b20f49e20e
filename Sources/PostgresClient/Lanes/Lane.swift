/// One thread with one connection: takes what is queued, sends it as one transaction, waits for its commit, and takes what
/// came meanwhile.
struct Lane {
    let core: LaneCore

    /// An idle connection is looked at this often, so that a dead one is replaced before a call needs it.
    private static let idleCheck = Duration.seconds(5)

    func run() {
        core.search.withConnections(serve)
        core.laneEnded()
    }

    /// Runs batches until the connection is of no more use, or the lanes are closed and their queue empty.
    private func serve(_ connection: Connection) {
        let runner = BatchRunner(core: core, connection: connection)
        var batch: [LaneCall] = []
        while connection.isUsable {
            switch core.next(&batch, until: .after(Self.idleCheck)) {
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
