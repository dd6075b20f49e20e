import NIOCore
import NIOPosix

/// Ports of the loopback interface that nobody listens on.
enum FreePort {
    /// `count` different ones. Another process may take them before they are used; nothing better can be told to a program
    /// that must know its port in advance.
    static func find(_ count: Int) async throws -> [Int] {
        var channels: [any Channel] = []
        var ports: [Int] = []
        for _ in 0..<count {
            let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .bind(host: "127.0.0.1", port: 0).get()
            channels.append(channel)
            if let port = channel.localAddress?.port { ports.append(port) }
        }
        for channel in channels { try await channel.close() }
        return ports
    }
}
