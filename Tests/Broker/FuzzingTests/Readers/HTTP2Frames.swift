import BrokerHTTP
import BrokerTesting
import HTTPServer

extension Readers {
    /// The octets after the preface of an HTTP/2 connection. Requests and answers do not depend on the network's
    /// pieces, if all of them are there before the first answer. Every complete request is answered, and no other. The
    /// output is in proportion to the input. A closed connection keeps nothing in memory.
    static func http2Frames(_ octets: [UInt8]) throws -> Bool {
        let asked = AskedFrames(octets)
        let cut = octets.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % (octets.count + 1)
        let halves = [octets[..<cut], octets[cut...]]
        let whole = try exchange([octets[...]], asked, answersLate: true)
        let parts = try exchange(halves, asked, answersLate: true)
        try hold(parts == whole, "cut at \(cut) it is another stream: \(parts), not \(whole)")
        if octets.count <= 256 {
            let singles = try exchange(octets.indices.map { octets[$0...$0] }, asked, answersLate: true)
            try hold(singles == whole, "octet by octet it is another stream: \(singles), not \(whole)")
        }
        let early = try exchange(halves, asked, answersLate: false)
        try hold(whole.isEnding || !early.isEnding, "an early answer ends the connection")
        return whole.arrivals.contains { $0 != "fault" }
    }

    private struct Exchanged: Equatable {
        /// In no order: streams have none.
        var arrivals: [String]
        var answers: [UInt32: SentFrames.Answer]
        var isEnding: Bool
    }

    private static func exchange(
        _ pieces: [ArraySlice<UInt8>], _ asked: AskedFrames, answersLate: Bool
    ) throws -> Exchanged {
        let responder = EchoResponder(waits: answersLate)
        let peer = try EmbeddedPeer(responder, speaksHTTP2: true)
        var sent = SentFrames()
        do {
            defer { peer.close() }
            peer.receive(RawFrame.preface[...])
            for piece in pieces {
                peer.receive(piece)
                try sent.read(try peer.sent())
            }
            try holdIsBounded(responder, peer, asked, pieces)
            responder.stopWaiting()
            peer.run()
            try sent.read(try peer.sent())
        }
        // What the end has set in motion.
        peer.run()
        try hold(peer.buffered == 0, "\(peer.buffered) octets are kept after the end")
        try hold(peer.requests == nil, "the connection is kept after its end")
        try holdWasAsked(sent, asked)
        // An answer is at most some hundred octets, beside what it repeats, and a frame that asks for one has nine.
        let received = pieces.reduce(0) { $0 + $1.count }
        try hold(sent.octets <= 1024 + 64 * received, "\(sent.octets) octets are said to \(received)")
        return Exchanged(arrivals: responder.arrivals.sorted(), answers: sent.answers, isEnding: sent.isEnding)
    }

    private static func holdIsBounded(
        _ responder: EchoResponder, _ peer: EmbeddedPeer, _ asked: AskedFrames, _ pieces: [ArraySlice<UInt8>]
    ) throws {
        // Until the client knows the limit, it is that of NIO.
        let streams = (asked.knowsSettings ? EmbeddedPeer.limits.streams : 100) + asked.resets.count
        try hold(responder.waiting <= streams, "\(responder.waiting) requests wait at one time")
        // The room for a body is a power of two, from 256 on.
        let octets = pieces.reduce(0) { $0 + $1.count }
        try hold(peer.buffered <= 256 * 100 + 2 * octets, "\(peer.buffered) octets are kept of \(octets)")
    }

    /// The responder answers a request with its body.
    private static func holdWasAsked(_ sent: SentFrames, _ asked: AskedFrames) throws {
        for (stream, answer) in sent.answers where answer.status == "200" {
            guard let body = asked.bodies[stream] else {
                throw Violation(description: "stream \(stream) is answered before its end")
            }
            try hold(
                answer.body == body || answer.body.isEmpty || !answer.isWhole && body.starts(with: answer.body),
                "stream \(stream) is answered as if it were another")
        }
        guard !sent.isEnding else { return }
        for stream in asked.bodies.keys where !asked.resets.contains(stream) && !sent.resets.contains(stream) {
            try hold(sent.answers[stream] != nil, "stream \(stream) has no answer")
        }
    }
}
