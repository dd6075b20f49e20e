/// The processor time that the processes have used so far, in nanoseconds.
struct Usage {
    let broker: Int64
    let postgresql: Int64

    init(broker pid: Int32, server: ServerProcesses) throws {
        broker = ProcessClock.nanoseconds(of: pid) ?? 0
        postgresql = try server.nanoseconds()
    }
}
