import BrokerHTTP
import Glibc

/// The service manager that started this process, and its socket for messages: sd_notify(3), systemd.service(5).
struct ServiceManager: Sendable {
    static let ready = "READY=1"
    static let stopping = "STOPPING=1\nSTATUS=stopping"
    /// The longest time between two reports.
    private static let longestInterval: Duration = .seconds(5)

    /// A path, or `@` and an abstract name.
    private let socket: String
    /// The time between two reports: at most half of the time after which the manager kills a silent service.
    let interval: Duration

    /// `nil` if the environment names no socket.
    init?(environment: [String: String]) {
        guard let socket = environment["NOTIFY_SOCKET"], socket.hasPrefix("/") || socket.hasPrefix("@") else {
            return nil
        }
        self.socket = socket
        let isWatched = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        let limit = isWatched ? environment["WATCHDOG_USEC"].flatMap { Int64($0) } : nil
        interval =
            limit.map { min(max(.microseconds($0 / 2), .milliseconds(1)), Self.longestInterval) }
            ?? Self.longestInterval
    }

    /// Sends a message. A manager that does not take it is no reason to stop.
    func send(_ message: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(socket.utf8)
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard name.count < room.count else { return false }
            room.copyBytes(from: name)
            return true
        }
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard fits, descriptor >= 0 else { return }
        defer { close(descriptor) }
        // An abstract name ends with the address, not with a NUL.
        let length = (MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + name.count
        let octets = Array(message.utf8)
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(descriptor, octets, octets.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
    }
}

/// Tells the service manager that the broker is alive, and whether it is ready.
///
/// Every event loop must run a task first, and every readiness check must end. So the manager restarts a broker that
/// cannot answer. A broker that is not ready is alive: it waits for its database.
struct ServiceManagerReport: Sendable {
    let manager: ServiceManager
    let checks: [any ReadinessCheck]
    let passEventLoops: @Sendable () async -> Void

    func run() async {
        await passEventLoops()
        var problems: [String] = []
        for check in checks {
            if let problem = await check.problem() { problems.append("\(check.name): \(problem)") }
        }
        let status = problems.isEmpty ? "ready" : "not ready: " + problems.joined(separator: "; ")
        manager.send("WATCHDOG=1\nSTATUS=\(status)")
    }
}
