import NativeSSO
import PostgresClient

/// `native_sso.reserve_code`, `send_code`, `settle_code`, `finish_code` and `forget_code`: their parameters, and what their rows mean.
enum CodeStatements {
    static let claim = Statement(
        "SELECT standing, answer FROM native_sso.reserve_code($1, $2, $3, $4, $5)")
    static let send = Statement("SELECT native_sso.send_code($1, $2, $3)")
    static let settle = Statement("SELECT native_sso.settle_code($1, $2, $3, $4)")
    static let finish = Statement("SELECT native_sso.finish_code($1, $2, $3)")
    static let forget = Statement("SELECT native_sso.forget_code($1, $2)")

    static let all = [claim, send, settle, finish, forget]

    static func parameters(_ entry: CodeEntry) -> [PostgresValue] {
        [
            .bytes(entry.code.octets), .bytes(entry.binding.octets), .uuid(entry.requestID),
            .optionalBytes(entry.proof?.id.digest), .optionalInt64(entry.proof?.life.count),
        ]
    }

    static func claim(_ row: Row) throws -> CodeClaim {
        switch (try row.text(0), try row.optionalBytes(1)) {
        case ("granted", nil): .granted
        case ("in_flight", nil): .inFlight
        case ("kept", let answer?): .kept(answer)
        case ("used", nil): .used
        case ("proof_used", nil): .proofUsed
        default: throw CorruptRow(column: "standing")
        }
    }

    static func parameters(
        _ code: CodeName, _ request: UniqueID, _ settlement: CodeSettlement
    ) -> [PostgresValue] {
        let (state, answer): (String, [UInt8]?) =
            switch settlement {
            case .released: ("released", nil)
            case .lost: ("lost", nil)
            case .kept(let answer): ("kept", answer)
            case .answered(let answer): ("answered", answer)
            }
        return [.bytes(code.octets), .uuid(request), .text(state), .optionalBytes(answer)]
    }
}
