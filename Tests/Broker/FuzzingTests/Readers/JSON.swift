import Foundation
import StrictCoding

extension Readers {
    /// What was read and written again reads the same, and another implementation accepts it and reads the same texts.
    static func json(_ octets: [UInt8]) throws -> Bool {
        guard let value = try? JSONReader.parse(octets) else { return false }
        try hold((try? JSONReader.parse(value.octets)) == value, "JSON is not read as it was written")
        try numbers(in: value)
        guard !holdsNumber(value) else { return true }  // Foundation has ranges of its own for them
        guard let other = try? JSONSerialization.jsonObject(with: Data(octets), options: .fragmentsAllowed) else {
            throw Violation(description: "Foundation refuses what is accepted here")
        }
        try hold(agrees(value, other), "Foundation reads something else")
        return true
    }

    private static func numbers(in value: JSONValue) throws {
        switch value {
        case .number(let number):
            guard let seconds = number.wholeSeconds else { return }
            guard let double = Double(number.text) else { throw Violation(description: "no number") }
            let slack = 1 + double.magnitude * 1e-15
            try hold(
                double >= Double(seconds) - slack && double <= Double(seconds) + 1 + slack,
                "\(number.text) is not \(seconds) seconds")
        case .array(let elements): for element in elements { try numbers(in: element) }
        case .object(let object): for member in object.members { try numbers(in: member.value) }
        case .null, .bool, .string: break
        }
    }

    private static func holdsNumber(_ value: JSONValue) -> Bool {
        switch value {
        case .number: true
        case .array(let elements): elements.contains(where: holdsNumber)
        case .object(let object): object.members.contains { holdsNumber($0.value) }
        case .null, .bool, .string: false
        }
    }

    private static func agrees(_ value: JSONValue, _ other: Any) -> Bool {
        switch value {
        case .null: return other is NSNull
        case .bool(let bool): return other as? Bool == bool
        case .number: return true
        case .string(let text): return (other as? String)?.utf8.elementsEqual(text.utf8) == true
        case .array(let elements):
            guard let other = other as? [Any], other.count == elements.count else { return false }
            return zip(elements, other).allSatisfy(agrees)
        case .object(let object):
            guard let other = other as? [String: Any] else { return false }
            // Its keys are one where they only look the same, so that names beyond ASCII say nothing.
            return object.members.allSatisfy { member in
                guard member.name.utf8.allSatisfy({ $0 < 0x80 }) else { return true }
                return other[member.name].map { agrees(member.value, $0) } == true
            }
        }
    }
}
