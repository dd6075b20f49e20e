@testable import BrokerHTTP
import NativeSSO
import StrictCoding

extension Readers {
    /// What is accepted is within the limits, and acknowledges nothing that the body does not name.
    static func poll(_ octets: [UInt8]) throws -> Bool {
        guard let poll = PollRequest(octets) else { return false }
        try hold((0...PollRequest.mostEvents).contains(poll.maximumEvents), "more events than an answer may hold")
        try hold(poll.receiver.utf8.count <= 64, "a name that no row can hold")
        try hold(poll.receiver.utf8.allSatisfy { $0.isUnreserved }, "a name that is none")
        let json = try JSONReader.parse(octets).object
        let named = (json?.strings("ack") ?? []) + (json?.object("setErrs")?.names ?? [])
        try hold(
            poll.acknowledged.allSatisfy { id in named.contains { UniqueID($0) == id } },
            "an acknowledgement of what the body does not name")
        try hold(poll.failures <= named.count, "more failures than names")
        return true
    }
}
