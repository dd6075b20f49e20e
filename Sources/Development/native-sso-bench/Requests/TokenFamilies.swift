/// The refresh token of each login for one app, as the last answer gave it. One load uses it at a time.
final class TokenFamilies: @unchecked Sendable {
    let count: Int
    private var tokens: [UInt8] = []
    /// Of every token; 0 before the first.
    private(set) var tokenLength = 0
    private var isKnown: [Bool]

    init(count: Int) {
        self.count = count
        isKnown = Array(repeating: false, count: count)
    }

    subscript(login: Int) -> ArraySlice<UInt8>? {
        isKnown[login] ? tokens[login * tokenLength..<(login + 1) * tokenLength] : nil
    }

    /// Stores the token from an answer. If its length differs from the others, drops the token and its grant.
    func take(_ body: UnsafeRawBufferPointer, for login: Int) {
        guard let token = TokenAnswer.refreshToken(in: body) else { return isKnown[login] = false }
        if tokenLength == 0 {
            tokenLength = token.count
            tokens = Array(repeating: 0, count: count * token.count)
        }
        isKnown[login] = token.count == tokenLength
        guard isKnown[login] else { return }
        tokens.withUnsafeMutableBytes {
            UnsafeMutableRawBufferPointer(rebasing: $0[login * token.count..<(login + 1) * token.count])
                .copyMemory(from: token)
        }
    }
}
