import BrokerHarness

/// A connection over which requests are sent, and what comes of them.
protocol FuzzPeer: AnyObject {
    var socket: FuzzSocket { get }
    /// The first of the requests that are not answered yet.
    var oldest: FuzzedRequest? { get }
    /// Nothing more is answered here.
    var hasEnded: Bool { get }
    func takes(_ request: FuzzedRequest) -> Bool
    func enqueue(_ request: FuzzedRequest)
    func flush()
    func receive() -> [FuzzEvent]
}

enum FuzzEvent {
    /// An answer, and what it answers.
    case answer(HTTPAnswer, FuzzedRequest)
    /// The stream of this request was ended, and no other. RFC 9113 §5.4.2.
    case reset(FuzzedRequest, code: UInt32)
    /// What came is no HTTP, or answers nothing that was asked.
    case nonsense(FuzzedRequest?)
    /// The connection is over; these were never answered, or may not have been.
    case end(unanswered: [FuzzedRequest])
}
