import PrivateCluster

/// Where everything listens, on 127.0.0.1.
struct Ports: Sendable, Equatable {
    var identityProvider = 9000
    var brokerPublic = 8080
    var brokerInternal = 8081
    var serverA = 9001
    var serverB = 9002
    var plainProvider = 9003
    var page = 9004

    static let count = 7

    struct Taken: Error, CustomStringConvertible {
        let port: Int
        var description: String {
            "Port \(port) is in use. --port-base N takes seven other ports from N on, --port-base 0 any free ones."
        }
    }

    /// - Parameter base: nil for the usual ports, 0 for free ones, otherwise the first of ``count`` in a row.
    static func choose(base: Int?) throws -> Ports {
        switch base {
        case nil: Ports()
        case 0: Ports(try LoopbackPort.free(count).map(Int.init))
        case let base?: Ports((0..<count).map { base + $0 })
        }
    }

    /// - Throws: ``Taken``, if another process has one of the ports.
    func check() throws {
        for port in [identityProvider, brokerPublic, brokerInternal, serverA, serverB, plainProvider, page]
        where try !LoopbackPort.isFree(UInt16(port)) { throw Taken(port: port) }
    }

    init() {}

    private init(_ ports: [Int]) {
        identityProvider = ports[0]
        brokerPublic = ports[1]
        brokerInternal = ports[2]
        serverA = ports[3]
        serverB = ports[4]
        plainProvider = ports[5]
        page = ports[6]
    }
}
