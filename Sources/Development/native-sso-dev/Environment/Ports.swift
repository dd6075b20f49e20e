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

    /// - Parameter base: nil for the usual ports, 0 for free ones, otherwise the first of ``count`` in a row.
    static func choose(base: Int?) throws -> Ports {
        switch base {
        case nil: Ports()
        case 0: Ports(try LoopbackPort.free(count).map(Int.init))
        case let base?: Ports((0..<count).map { base + $0 })
        }
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
