import BrokerHarness
import BrokerTesting

/// A connection of HTTP/2 with several requests under way.
///
/// In the clear, to a ``TLSTunnel`` that speaks `h2`.
final class FuzzFrameConnection: FuzzPeer {
    /// As many as the server takes at a time.
    private static let depth = 8
    /// Octets; what is longer goes elsewhere, so that the window below holds it.
    static let largestBody = 40_000

    let socket: FuzzSocket
    private var reader = FrameReader()
    private var underWay: [UInt32: FuzzedRequest] = [:]
    private var lastStream: UInt32 = 0
    /// Octets of bodies that the server is ready to take. RFC 9113 §6.9.
    private var window = 65_535
    private var isGoingAway = false
    private(set) var hasEnded = false
    private let isLone: Bool

    var oldest: FuzzedRequest? { underWay.min { $0.key < $1.key }?.value }

    init(port: UInt16, isLone: Bool = false) throws {
        self.isLone = isLone
        socket = try FuzzSocket(port: port)
        guard !isLone else { return }
        // And a window for answers that never closes, RFC 9113 §6.9.1: 2^31 - 1 with the octets that it has.
        let window = RawFrame(.windowUpdate, RawFrame.big(0x7FFF_0000))
        socket.enqueue(RawFrame.preface + RawFrame(.settings).octets + window.octets)
    }

    func takes(_ request: FuzzedRequest) -> Bool {
        if isLone { return lastStream == 0 }
        return !isGoingAway && underWay.count < Self.depth && request.message.body.count <= window
    }

    func enqueue(_ request: FuzzedRequest) {
        lastStream += lastStream == 0 ? 1 : 2
        underWay[lastStream] = request
        window -= request.message.body.count
        socket.enqueue(request.rawOctets ?? request.message.frames(on: lastStream).flatMap(\.octets))
    }

    func flush() {
        if socket.flush(), isLone { socket.finishSending() }
    }

    func receive() -> [FuzzEvent] {
        let portion = socket.receive()
        guard let heard = try? reader.read(portion ?? []) else {
            hasEnded = true
            // Bent settings can say that answers are to be read in another way.
            return isLone ? [.end(unanswered: Array(underWay.values))] : [.nonsense(oldest)]
        }
        var events: [FuzzEvent] = []
        for event in heard {
            switch event {
            case .answer(let answer):
                guard let request = isLone ? underWay.first?.value : underWay.removeValue(forKey: answer.stream) else {
                    events.append(.nonsense(nil))
                    continue
                }
                events.append(.answer(HTTPAnswer(answer), request))
            case .reset(let stream, let code):
                guard !isLone, let request = underWay.removeValue(forKey: stream) else { continue }
                events.append(.reset(request, code: code))
            case .goAway: isGoingAway = true
            case .window(let stream, let count): if stream == 0 { window += count }
            case .ping: break
            }
        }
        // What is left of the window may be too little for whatever comes next.
        guard portion == nil || underWay.isEmpty && (isGoingAway || window < Self.largestBody) else { return events }
        hasEnded = true
        return events + [.end(unanswered: underWay.sorted { $0.key < $1.key }.map(\.value))]
    }
}
