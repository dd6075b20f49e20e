/// What the connections send, and what becomes of the answers.
protocol Workload {
    /// Writes the next request of a connection, and says how long it is; `nil` if there is nothing left to send.
    mutating func next(on connection: Int, into request: UnsafeMutableRawBufferPointer) -> Int?

    /// Takes in a good answer.
    mutating func answered(_ body: UnsafeRawBufferPointer, on connection: Int)

    /// Of the tokens in a good answer.
    var tokenType: TokenType { get }
}

extension Workload {
    var tokenType: TokenType { .bearer }
}

extension UnsafeMutableRawBufferPointer {
    /// Fills in the parts of a request one behind the other. How long it is; `nil` if there is no room for it.
    func fill(_ head: [UInt8], _ tail: ArraySlice<UInt8>) -> Int? {
        let count = head.count + tail.count
        guard count <= self.count else { return nil }
        copyBytes(from: head)
        UnsafeMutableRawBufferPointer(rebasing: self[head.count...]).copyBytes(from: tail)
        return count
    }
}
