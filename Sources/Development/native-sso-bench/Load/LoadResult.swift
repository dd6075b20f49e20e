/// What came of one load.
struct LoadResult {
    private(set) var requests = 0
    var seconds = 0.0
    /// Microseconds, in no order.
    private(set) var latencies: [UInt32] = []
    /// 503: the broker had more to do than it could do in time. The contract, and not what was asked for.
    private(set) var unavailable = 0
    private(set) var wrongAnswers = 0
    private(set) var firstWrongAnswer: String?
    /// Access tokens whose signature is checked afterwards, so that checking costs nothing meanwhile.
    private(set) var samples: [String] = []
    private let sampling: Int
    private let tokenType: TokenType

    /// - Parameters:
    ///   - sampling: Look closely at one answer in so many.
    ///   - tokenType: That a good answer has.
    init(sampling: Int, tokenType: TokenType = .bearer) {
        self.sampling = sampling
        self.tokenType = tokenType
        latencies.reserveCapacity(1 << 17)
    }

    /// Takes in an answer. Whether it is a good one.
    mutating func note(_ status: Int, _ body: UnsafeRawBufferPointer, nanoseconds: Int64) -> Bool {
        requests += 1
        latencies.append(UInt32(clamping: nanoseconds / 1000))
        if status == 503 {
            unavailable += 1
            return false
        }
        let isSampled = requests.isMultiple(of: sampling)
        guard status == 200, body.first == UInt8(ascii: "{"), !isSampled || TokenAnswer.isComplete(body, tokenType)
        else {
            wrongAnswers += 1
            if firstWrongAnswer == nil {
                firstWrongAnswer = "\(status) \(String(decoding: body.prefix(200), as: UTF8.self))"
            }
            return false
        }
        if isSampled, let token = TokenAnswer.accessToken(in: body) {
            samples.append(String(decoding: token, as: UTF8.self))
        }
        return true
    }
}
