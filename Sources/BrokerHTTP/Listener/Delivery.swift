import NIOCore

/// What arrived, and where its answer goes.
struct Delivery: Sendable {
    let arrival: Arrival
    /// A connection of HTTP/1, or a stream of HTTP/2. Takes an ``HTTPAnswer``. `nil` where there is nobody left to answer.
    let channel: (any Channel)?
    /// Whether the answer must be there before the next delivery is looked at.
    let isInOrder: Bool
}
