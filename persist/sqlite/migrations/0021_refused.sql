-- The turns of which a review has rejected or blocked the end: lists find their threads
-- beside those with a turn that failed.

CREATE INDEX turns_refused ON turns (created_seq) WHERE review_state IN ('rejected', 'blocked');
