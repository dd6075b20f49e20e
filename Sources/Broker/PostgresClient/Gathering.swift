/// Runs several calls of one statement as a single statement, which takes them as an array.
///
/// The array's element type is composite; its attributes are parameters of a call. Each result row has the columns of
/// the original statement and `place`, the call's position in the array (`bigint`, from 1). Each call has at most one
/// row.
/// A call without a row had no effect and then runs on its own.
public final class Gathering: Sendable {
    /// A parameter of the statement (counted from 0) and the type of its attribute.
    public struct Field: Sendable {
        let parameter: Int
        let type: ColumnType

        /// An attribute type. Never a domain: its object id differs between databases.
        public enum FieldType: Sendable {
            case bool, int32, int64, text, bytes, uuid, timestamp, textArray
        }

        public init(_ parameter: Int, _ type: FieldType) {
            self.parameter = parameter
            self.type =
                switch type {
                case .bool: .bool
                case .int32: .int4
                case .int64: .int8
                case .text: .text
                case .bytes: .bytea
                case .uuid: .uuid
                case .timestamp: .timestamptz
                case .textArray: .textArray
                }
        }
    }

    /// The statement that runs the whole array.
    public let statement: Statement
    /// The composite type, qualified with its schema.
    let element: StaticString
    /// The attributes in order.
    let fields: [Field]
    /// Calls with a non-NULL value in one of these parameters always run on their own.
    let absent: [Int]

    public init(_ sql: StaticString, of element: StaticString, _ fields: [Field], withoutParameters absent: [Int]) {
        statement = Statement(sql)
        self.element = element
        self.fields = fields
        self.absent = absent
    }

    func takes(_ parameters: EncodedParameters) -> Bool {
        absent.allSatisfy { parameters.lengths.indices.contains($0) && parameters.lengths[$0] < 0 }
    }
}

extension EncodedParameters {
    /// One parameter: an array of composite values (`array_recv`, `record_recv`), one element per call, with octets
    /// copied unchanged. `nil` if a call lacks a parameter or the array is too long.
    init?(gathering calls: [EncodedParameters], _ fields: [Gathering.Field], element: UInt32) {
        self.init()
        octets.reserveCapacity(1 + 20 + calls.count * (8 + 8 * fields.count) + calls.reduce(0) { $0 + $1.octets.count })
        octets.append(0)
        append(Int32(1))  // dimensions
        append(Int32(0))  // no NULL elements
        append(Int32(bitPattern: element))
        append(Int32(clamping: calls.count))
        append(Int32(1))  // lower bound
        var starts: [Int] = []
        for call in calls {
            starts.removeAll(keepingCapacity: true)
            var position = 1
            for length in call.lengths {
                starts.append(position)
                position += Int(max(0, length))
            }
            var size = 4
            for field in fields {
                guard call.lengths.indices.contains(field.parameter) else { return nil }
                size += 8 + Int(max(0, call.lengths[field.parameter]))
            }
            append(Int32(clamping: size))
            append(Int32(clamping: fields.count))
            for field in fields {
                let (start, length) = (starts[field.parameter], call.lengths[field.parameter])
                append(Int32(bitPattern: field.type.objectID))
                append(length)
                if length > 0 { octets.append(contentsOf: call.octets[start..<start + Int(length)]) }
            }
        }
        guard let length = Int32(exactly: octets.count - 1) else { return nil }
        lengths.append(length)
    }
}
